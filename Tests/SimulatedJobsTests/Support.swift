import Diagnostics
import JobLoader
import SimulatedJobs
import Testing
import TransferModel

/// A job from its text.
func job(_ text: String, place: SourceLocation = #_sourceLocation) throws -> Job {
    let result = JobLoader.load(
        SourceText(name: "/job/job.yaml", bytes: Array(text.utf8)), options: LoadOptions(),
        resources: .nothing())
    #expect(result.diagnostics.items.isEmpty, "\(result.diagnostics.items.map(\.message))", sourceLocation: place)
    return try #require(result.job, sourceLocation: place)
}

/// A model from its text.
func model(_ text: String, place: SourceLocation = #_sourceLocation) throws -> NetworkModel {
    let (model, problems) = NetworkModelReader.read(SourceText(name: "net.yaml", bytes: Array(text.utf8)))
    #expect(problems.items.isEmpty, "\(problems.items.map(\.message))", sourceLocation: place)
    return try #require(model, sourceLocation: place)
}

func run(_ job: Job, _ network: NetworkModel, seed: UInt64 = 1) -> SimulationSummary {
    JobSimulation(job, in: network, seed: seed).run()
}

func seconds(_ summary: SimulationSummary) -> Double { summary.duration.seconds }
