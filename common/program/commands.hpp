/// The subcommands of the program `rung`. Each adds itself to the command line in its own file.
#pragma once

#include "common/program/command_line.hpp"

namespace rung {

void add_list_command(Command program);
void add_run_command(Command program);
void add_count_command(Command program);
void add_check_command(Command program);
void add_ceilings_command(Command program);
void add_occupancy_command(Command program);
void add_bound_command(Command program);
void add_tile_command(Command program);
void add_blur_command(Command program);
void add_model_command(Command program);
void add_claims_command(Command program);
void add_doctor_command(Command program);

}  // namespace rung
