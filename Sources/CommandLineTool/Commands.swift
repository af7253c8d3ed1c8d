// One function for each command that works on a job. They come with the rooms they stand on; until then they say so.

extension CommandLineTool {
    static func run(_ options: RunOptions, _ console: Console) -> Int32 {
        refuse("running a job", console)
    }

    static func check(_ options: CheckOptions, _ console: Console) -> Int32 {
        refuse("checking a job", console)
    }

    static func schema(_ console: Console) -> Int32 {
        refuse("printing the schema", console)
    }

    private static func refuse(_ what: String, _ console: Console) -> Int32 {
        console.errors(UsageError.notBuilt(what).text)
        return 2
    }
}
