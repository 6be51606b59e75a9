package import APITypes
package import ActivityModel
import DeliveryStore
import Logging
import Registry
package import Store

extension Intake {
    /// Starts an activity, now or at its time.
    ///
    /// - Returns: The answer. It is a replay if the very same start had been accepted before.
    /// - Throws: 404 for an unknown app; 422 `unknown_type`, `invalid_attributes`, `invalid_content_state`,
    ///   `alert_required`, `payload_too_large`; 409 `attributes_conflict`, `activity_exists`; 429 `too_many_requests`. Nothing
    ///   is changed then.
    package func start(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: StartRequest,
        origin: RequestOrigin?
    ) async throws -> Replayable<StartAnswer> {
        let start = RequestedStart(app: app, id: id, request: request, idempotencyKey: nil, origin: origin)
        return try (await accept([start]).first ?? .failure(Problem.internalError())).get()
    }

    /// Accepts starts, each judged on its own; those of one activity in their order.
    ///
    /// - Returns: One answer for each, as ``start(_:_:_:origin:)`` gives or throws it.
    func accept(_ starts: [RequestedStart]) async -> [Result<Replayable<StartAnswer>, any Error>] {
        await registry.withCurrentTypes(starts) { await carryOut($0) }
    }

    /// A start that was judged by an outdated type fails with ``OutdatedType``.
    private func carryOut(_ starts: [RequestedStart]) async -> [Result<Replayable<StartAnswer>, any Error>] {
        let generation = facts.generation
        let limit = intakeLimit
        var answers: [StartGroup.Answer] = starts.map { _ in .failure(Problem.internalError()) }
        for isSmall in [true, false] {
            let group = isSmall ? groups.starts : groups.largeStarts
            let places = starts.indices.filter { starts[$0].isSmall == isSmall }
            // Refuses for lack of room before judging, which reads the audience.
            do throws(Problem) {
                try limit.admit(.pressing, behind: group.backlog)
            } catch {
                for place in places { answers[place] = .failure(error) }
                continue
            }
            let commands = await inTurns(places.map { starts[$0] }) { await self.command($0) }
            let stored = await group.submit(commands.map { ($0.start.name, $0) }) {
                _,
                backlog throws(Problem) in
                try limit.admit(.pressing, behind: backlog)
            }
            for (place, answer) in zip(places, stored) { answers[place] = answer }
        }
        for (start, answer) in zip(starts, answers) {
            guard case .success(let stored) = answer, let activity = stored.activity else { continue }
            facts.store(ActivityFacts(activity), for: start.name, lookedUpIn: generation)
        }
        return await inTurns(answers) { await self.counted($0) }
    }

    /// How many parts of a batch are judged, counted or scheduled at the same time. The other connections of the database
    /// are for others.
    private static let atOnce = 4

    /// Carries out work for each of some inputs, a few at a time.
    func inTurns<Input: Sendable, Output: Sendable>(
        _ inputs: [Input],
        _ body: @escaping @Sendable (Input) async -> Output
    ) async -> [Output] {
        if inputs.count == 1 { return [await body(inputs[0])] }
        return await withTaskGroup(of: (place: Int, output: Output).self) { group in
            var outputs: [Output?] = Array(repeating: nil, count: inputs.count)
            for (place, input) in inputs.enumerated() {
                if place >= Self.atOnce, let done = await group.next() { outputs[done.place] = done.output }
                group.addTask { (place, await body(input)) }
            }
            for await done in group { outputs[done.place] = done.output }
            return outputs.compactMap { $0 }
        }
    }

    func command(_ start: RequestedStart) async -> StartCommand {
        do {
            return StartCommand(start, .success(try await proposal(start)))
        } catch {
            log(error)
            return StartCommand(start, .failure(error))
        }
    }

    /// A start as its type takes it now.
    ///
    /// - Throws: 404, 422.
    func proposal(_ start: RequestedStart) async throws -> StartProposal {
        let (app, request) = (start.app, start.request)
        var environment: APNSEnvironment?
        var appVersions: [String] = []
        if !request.audience.isEmpty {
            let own = try await registry.environment(request.environment, of: app)
            environment = own
            appVersions = try await AudienceVersions.read(request.audience, of: app, own, from: database)
        }
        let type = try await registry.typeContext(app, request.type)
        return try StartProposal(start, type: type, in: environment, appVersions: appVersions)
    }

    private func counted(_ answer: StartGroup.Answer) async -> Result<Replayable<StartAnswer>, any Error> {
        do {
            let draft = try answer.get().answer
            let isReplay = draft.status == StartGroup.replayStatus
            return .success(Replayable(try await draft.counted(in: database), isReplay: isReplay))
        } catch {
            log(error)
            return .failure(error)
        }
    }

    /// What is wrong with a request is its caller's to know.
    private func log(_ error: any Error) {
        guard !(error is Problem), !(error is OutdatedType) else { return }
        logger.error("accepting a start failed", metadata: ["error": "\(error)"])
    }
}
