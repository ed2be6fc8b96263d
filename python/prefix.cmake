# What `pip install <prefix>/share/mneme/python` runs: the extension against that prefix.
cmake_minimum_required(VERSION 3.20)
project(mneme_package LANGUAGES CXX)
add_subdirectory(python)
