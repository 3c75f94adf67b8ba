/// The subcommands of the program `rung`. Each adds itself to the command line in its own file.
#pragma once

namespace CLI {
class App;
}

namespace rung {

void add_list_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_count_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_ceilings_command(CLI::App& app);
void add_occupancy_command(CLI::App& app);
void add_bound_command(CLI::App& app);
void add_tile_command(CLI::App& app);
void add_blur_command(CLI::App& app);
void add_model_command(CLI::App& app);
void add_claims_command(CLI::App& app);
void add_doctor_command(CLI::App& app);

}  // namespace rung
