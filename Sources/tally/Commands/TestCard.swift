import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

extension Activities {
    struct TestCard: AppCommand {
        static let configuration = CommandConfiguration(
            commandName: "test-card",
            abstract: "Start, update and end a card on one phone, and say what came of each step.",
            discussion: """
                Without --attributes and --content-state, the content is made up from the schemas of the type. The second state \
                is that of --then.

                Exit codes: 0 the phone took all three, 2 it did not within --timeout of a step.
                """,
            examples: "tally activities test-card --device phone-1 --type Game"
        )

        @Option(help: "The phone.") var device: Checked<DeviceID>
        @Option(help: "The registered type.") var type: Checked<ActivityTypeName>
        @Option(help: "JSON, or @FILE.") var attributes: JSONArgument?
        @Option(help: "JSON, or @FILE.") var contentState: JSONArgument?
        @Option(help: "The state of the update: JSON, or @FILE. Default: the first state again, with an alert.")
        var then: JSONArgument?
        @Option(help: "How long the card shows each state, such as 10s. Default: 5s.") var pause: Checked<Span>?
        @Option(help: "How long to wait for the phone in each step, such as 2m. Default: 1m.") var timeout:
            Checked<Span>?
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let app = try session.app()
            let id = ActivityID(stored: "test-card-\(UUID().uuidString.lowercased())")
            let content = try await content(of: id, app, session)
            let environment = try await session.client.device(app, device.value).environment
            let start = StartRequest(
                type: type.value,
                attributes: content.attributes,
                contentState: content.first,
                environment: environment,
                audience: Audience(devices: [device.value]),
                alert: Self.alert("Test card")
            )
            _ = try await session.client.start(app, id, start)
            let isDone = try await steps(app, id, content, session)
            _ = try await session.client.end(app, id, EndRequest(dismissal: .after(seconds: 0)))
            session.show(line: "\(id): ended.", json: ["activity_id": .string(id.rawValue), "done": .bool(isDone)])
            if !isDone { throw Self.notInTime }
        }

        private static let notInTime = ExitCode(2)

        private static func alert(_ title: String) -> AlertContent {
            AlertContent(title: .plain(title), body: .plain("Sent by tally activities test-card"))
        }

        private struct Content {
            let attributes: JSONObject
            let first: JSONObject
            let second: JSONObject
        }

        /// - Throws: ``UsageError`` if a phone could not decode the content.
        private func content(of id: ActivityID, _ app: BundleID, _ session: CommandSession) async throws -> Content {
            let type = try await session.client.type(app, type.value)
            var sample = Self.sample(type.attributesSchema)
            if let name = type.policy.idAttribute { sample[name] = .string(id.rawValue) }
            let attributes = try attributes?.object(of: "--attributes") ?? sample
            let first = try contentState?.object(of: "--content-state") ?? Self.sample(type.contentStateSchema)
            let second = try then?.object(of: "--then") ?? first
            for state in [first, second] {
                let request = ValidationRequest(attributes: attributes, contentState: state)
                let verdict = try await session.client.validateContent(app, type.name, request)
                guard verdict.valid else {
                    throw UsageError(
                        "A phone could not decode this content; give --attributes and --content-state.\n" + verdict.text
                    )
                }
            }
            return Content(attributes: attributes, first: first, second: second)
        }

        private static func sample(_ schema: JSONValue) -> JSONObject {
            SampleContent(schema).value.object ?? JSONObject()
        }

        /// - Returns: Whether the phone took the start and the update in time.
        private func steps(
            _ app: BundleID,
            _ id: ActivityID,
            _ content: Content,
            _ session: CommandSession
        ) async throws -> Bool {
            guard try await isCurrent(app, id, "start", session) else { return false }
            try await Task.sleep(for: .seconds(pause?.value.seconds ?? 5))
            let update = UpdateRequest(contentState: content.second, alert: Self.alert("Updated"))
            _ = try await session.client.update(app, id, update)
            guard try await isCurrent(app, id, "update", session) else { return false }
            try await Task.sleep(for: .seconds(pause?.value.seconds ?? 5))
            return true
        }

        /// Waits until the card has the newest state.
        private func isCurrent(
            _ app: BundleID,
            _ id: ActivityID,
            _ step: String,
            _ session: CommandSession
        ) async throws -> Bool {
            let end = ContinuousClock.now + .seconds(timeout?.value.seconds ?? 60)
            repeat {
                let activity = try await session.client.activity(app, id)
                if activity.progress.current > 0 {
                    if !session.json { Terminal.print("\(id): the phone has the \(step).") }
                    return true
                }
                if activity.starts.withheld + activity.starts.failed > 0 { break }
                try await Task.sleep(for: .milliseconds(250))
            } while ContinuousClock.now < end
            let story = try await session.client.timeline(app, id, device: device.value, PageRequest(limit: 1))
            Terminal.printError("\(id): the phone does not have the \(step). \(story.verdict.text)")
            return false
        }
    }
}
