import Glibc

// What a task costs, stage by stage, against its budget: `make bench` starts a server and calls this. With `scale` it
// needs no server: up to a million tasks before a modelled network. Nor with `store FOLDER`, what is kept between runs,
// `cache FOLDER`, answers out of the cache, `journal FOLDER`, what a background run writes down, and `copies`, of bytes.

var arguments = CommandLine.arguments.dropFirst()
if arguments.first == "scale" { exit(Scale().run() ? 0 : 1) }
if arguments.first == "copies" {
    Stages.copies()
    exit(0)
}
let only = arguments.first
let server = arguments.popFirst() ?? "http://127.0.0.1:18180"
let folder = arguments.popFirst() ?? ".bench/out"
let tasks = arguments.popFirst().flatMap { Int($0) } ?? 10_000

do {
    let stages = Stages(server: server, folder: folder, tasks: tasks)
    switch only {
    case "store": try stages.store()
    case "cache": try stages.cache()
    case "journal": try stages.journal()
    default: try stages.run()
    }
} catch {
    print("bench: \(error)")
    exit(1)
}
