"""What is kept of a run of tuning: what was asked for, the study of what was found, and the files of both."""
