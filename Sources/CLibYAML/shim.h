#ifndef TRANSFER_RUN_CLIBYAML_SHIM_H
#define TRANSFER_RUN_CLIBYAML_SHIM_H
#include <yaml.h>
#endif
