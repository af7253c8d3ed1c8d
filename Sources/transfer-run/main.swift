import CommandLineTool
import Glibc
import SystemIO

// Before any thread is made: signals are values here.
Signals.hold()
exit(CommandLineTool.main(arguments: Array(CommandLine.arguments.dropFirst()), environment: Surroundings.environment()))
