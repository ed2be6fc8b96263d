"""lit configuration of the plugin's tests; lit.site.cfg.py, which the build writes, sets the paths."""
import lit.formats

config.name = "mneme"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".cu", ".ll", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = config.mneme_source_root
config.test_exec_root = config.mneme_exec_root
config.environment["PATH"] = config.llvm_tools_dir + ":" + config.environment.get("PATH", "")

cuda = f"--cuda-path={config.cuda_home} -Wno-unknown-cuda-version"
plugin = f"-fpass-plugin={config.plugin} -fno-discard-value-names"
config.substitutions += [
    # The device half of a CUDA compilation with the plugin, and without.
    ("%mneme-cuda", f"{config.clangxx} -std=c++17 {cuda} --offload-arch=sm_90 --cuda-device-only {plugin}"),
    ("%plain-cuda", f"{config.clangxx} -std=c++17 {cuda} --offload-arch=sm_90 --cuda-device-only -fno-discard-value-names"),
    # Both halves.
    ("%mneme-clang", f"{config.clangxx} -std=c++17 {cuda} --offload-arch=sm_90 {plugin}"),
    ("%cuda-libs", f"-L{config.cuda_home}/lib64 -L{config.cuda_home}/lib -lcudart_static -ldl -lrt -lpthread"),
    ("%mneme-opt", f"opt -load-pass-plugin={config.plugin}"),
    ("%segments", config.segments),
]
