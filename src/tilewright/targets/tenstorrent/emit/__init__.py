"""The emitters: kernels of the Tensix level and their plan as C++ sources.

emitter, integers       statements, expressions, loops
dataflow, compute       calls of the vendor's API, one rule an op
kernels                 reader.cpp, compute.cpp, writer.cpp
host                    main.cpp
"""
