/// Ctrl-C as a wish, not an end: the study looks at it between samples and keeps what it has.
#pragma once

namespace rung {

/// From now on SIGINT and SIGTERM set the flag; a second one ends the program at once.
void catch_interrupts();
bool interrupted();

}  // namespace rung
