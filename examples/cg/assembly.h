// Assembly of the finite-element matrix of cg, on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

struct CsrMatrix {
  int rows = 0;
  std::vector<int> row_begin;  // rows + 1 entries
  std::vector<int> columns;
  std::vector<double> values;
};

// Integrals over the unit interval of products of the two linear shape functions and of their derivatives.
inline constexpr double kMass1d[2][2] = {{1.0 / 3, 1.0 / 6}, {1.0 / 6, 1.0 / 3}};
inline constexpr double kStiffness1d[2][2] = {{1, -1}, {-1, 1}};

// Entry (a, b) of the 8 x 8 element matrix of -div(grad u) + u for a cell of edge h; bits of a and b are the node's corner.
inline double element_entry(int a, int b, double h) {
  double mass[3], stiffness[3];
  for (int d = 0; d < 3; ++d) {
    const int i = a >> d & 1, j = b >> d & 1;
    mass[d] = kMass1d[i][j];
    stiffness[d] = kStiffness1d[i][j];
  }
  const double gradient = stiffness[0] * mass[1] * mass[2] + mass[0] * stiffness[1] * mass[2] + mass[0] * mass[1] * stiffness[2];
  return h * gradient + h * h * h * mass[0] * mass[1] * mass[2];
}

// The matrix for the unit cube in cells^3 cells, rows in the order of nodes x + (y + z * side) * side, columns rising.
inline CsrMatrix assemble(int cells) {
  const int side = cells + 1;
  const double h = 1.0 / cells;
  CsrMatrix matrix;
  matrix.rows = side * side * side;
  matrix.row_begin.push_back(0);
  for (int z = 0; z < side; ++z) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        for (int k = std::max(z - 1, 0); k <= std::min(z + 1, cells); ++k) {
          for (int j = std::max(y - 1, 0); j <= std::min(y + 1, cells); ++j) {
            for (int i = std::max(x - 1, 0); i <= std::min(x + 1, cells); ++i) {
              // The cells that hold both nodes: their lowest corner lies at most one below each.
              double value = 0;
              for (int cz = std::max({z - 1, k - 1, 0}); cz <= std::min({z, k, cells - 1}); ++cz) {
                for (int cy = std::max({y - 1, j - 1, 0}); cy <= std::min({y, j, cells - 1}); ++cy) {
                  for (int cx = std::max({x - 1, i - 1, 0}); cx <= std::min({x, i, cells - 1}); ++cx) {
                    const int a = (x - cx) | (y - cy) << 1 | (z - cz) << 2, b = (i - cx) | (j - cy) << 1 | (k - cz) << 2;
                    value += element_entry(a, b, h);
                  }
                }
              }
              matrix.columns.push_back(i + (j + k * side) * side);
              matrix.values.push_back(value);
            }
          }
        }
        matrix.row_begin.push_back(static_cast<int>(matrix.columns.size()));
      }
    }
  }
  return matrix;
}

// Every row padded to as many entries as the longest has, entry by entry: entry k of row r is at k * rows + r, so that
// neighbouring threads, with a row each, read neighbouring entries. Padding is zeros on the diagonal.
struct EllpackMatrix {
  int rows = 0, width = 0;
  std::vector<int> columns;
  std::vector<double> values;
};

inline EllpackMatrix to_ellpack(const CsrMatrix& matrix) {
  EllpackMatrix padded;
  padded.rows = matrix.rows;
  for (int row = 0; row < matrix.rows; ++row)
    padded.width = std::max(padded.width, matrix.row_begin[row + 1] - matrix.row_begin[row]);
  padded.columns.resize(static_cast<size_t>(padded.width) * matrix.rows);
  padded.values.resize(padded.columns.size());
  for (int row = 0; row < matrix.rows; ++row) {
    const int begin = matrix.row_begin[row], count = matrix.row_begin[row + 1] - begin;
    for (int k = 0; k < padded.width; ++k) {
      const size_t place = static_cast<size_t>(k) * matrix.rows + row;
      padded.columns[place] = k < count ? matrix.columns[begin + k] : row;
      padded.values[place] = k < count ? matrix.values[begin + k] : 0;
    }
  }
  return padded;
}

inline std::vector<double> multiply(const CsrMatrix& matrix, const std::vector<double>& x) {
  std::vector<double> y(matrix.rows, 0.0);
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_begin[row]; i < matrix.row_begin[row + 1]; ++i) y[row] += matrix.values[i] * x[matrix.columns[i]];
  }
  return y;
}

// A source with something at every frequency, so that the solver has work to do.
inline std::vector<double> right_hand_side(const CsrMatrix& matrix, int cells) {
  const int side = cells + 1;
  std::vector<double> f(matrix.rows);
  for (int row = 0; row < matrix.rows; ++row) {
    const double x = static_cast<double>(row % side) / cells, y = static_cast<double>(row / side % side) / cells;
    f[row] = std::sin(7 * x) * (1 + y) + 0.01 * (row % 13);
  }
  return f;
}

// |f - A x| / |f|
inline double relative_residual(const CsrMatrix& matrix, const std::vector<double>& x, const std::vector<double>& f) {
  const std::vector<double> product = multiply(matrix, x);
  double difference = 0, norm = 0;
  for (int row = 0; row < matrix.rows; ++row) {
    difference += (f[row] - product[row]) * (f[row] - product[row]);
    norm += f[row] * f[row];
  }
  return std::sqrt(difference / norm);
}
