import CommandLineTool
import Glibc
import SystemIO

Signals.ignoreFailedWrites()
exit(CommandLineTool.main(arguments: Array(CommandLine.arguments.dropFirst()), environment: Surroundings.environment()))
