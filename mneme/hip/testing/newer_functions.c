/* Functions of HIP runtimes that are newer than the list of calls, for the HIP runtime of tests: where the list has one, that is
 * it. */

int mneme_fake_launch_cooperatively(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                    unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments);

__attribute__((visibility("default"), weak)) int hipModuleLaunchCooperativeKernel(void* function, unsigned grid_x,
                                                                                  unsigned grid_y, unsigned grid_z,
                                                                                  unsigned block_x, unsigned block_y,
                                                                                  unsigned block_z, unsigned shared, void* stream,
                                                                                  void** arguments) {
  return mneme_fake_launch_cooperatively(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments);
}
