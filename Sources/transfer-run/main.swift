import CommandLineTool
import Glibc
import SystemIO

Signals.ignoreClosedPipes()
exit(CommandLineTool.main(arguments: Array(CommandLine.arguments.dropFirst()), environment: Surroundings.environment()))
