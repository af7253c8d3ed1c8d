import CommandLineTool
import Glibc
import SystemIO

Signals.ignoreFailedWrites()
// At once: all threads were joined and all that was written is out; what libraries tidy up at an exit takes longer than a
// short run's requests.
_exit(CommandLineTool.main(arguments: Array(CommandLine.arguments.dropFirst()), environment: Surroundings.environment()))
