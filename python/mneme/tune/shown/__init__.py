"""How a study is shown: its table and verdict, its figure, and the line while it runs."""
