import APNSTransport
import APITypes
import ActivityModel
import ReportTypes

extension Examination {
    /// How long a connection to one of Apple's hosts may take.
    private static let connectPatience = Duration.seconds(10)

    /// Connects to every API in the environments that have keys, all at a time; without a look at the keys, to all.
    func connectionChecks(of keys: [SigningKeyFacts]?) async -> [DoctorCheck] {
        let configured = keys.map { Set($0.map(\.environment)) } ?? Set(APNSEnvironment.allCases)
        let environments = APNSEnvironment.allCases.filter { environment in
            configured.contains(environment) && request.environment.map { $0 == environment } ?? true
        }
        let places = environments.flatMap { environment in APNSAPI.allCases.map { (environment, $0) } }
        let hosts = doctor.hosts
        return await withTaskGroup(of: (Int, DoctorCheck).self) { group in
            for (index, (environment, api)) in places.enumerated() {
                group.addTask {
                    let outcome = await hosts.reach(environment, api, deadline: Self.connectPatience)
                    let place = hosts.endpoint(environment, api)
                    let subject = "\(environment.rawValue) \(api.rawValue), \(place)"
                    return (index, Self.check(of: subject, port: place.port, outcome))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    static func check(of subject: String, port: UInt16, _ outcome: ReachabilityOutcome) -> DoctorCheck {
        switch outcome {
        case .reached(let time):
            return DoctorCheck("apns", of: subject, .ok, "TLS and HTTP/2 in \(Int(time / .milliseconds(1))) ms")
        case .failed(let obstacle, let detail):
            let advice =
                switch obstacle {
                case .unreachable: "Look at name resolution, and whether outgoing TCP to port \(port) is allowed."
                case .timedOut: "Let the firewall pass outgoing TCP to port \(port)."
                case .tls:
                    "Install the system's CA certificates, or name the trust root with TALLY_APNS_CA_FILE; a proxy that "
                        + "opens TLS cannot be used with APNs."
                case .noHTTP2: "Something other than APNs answers there, such as a proxy: connect directly."
                case .other: "Try again; if it stays, look at what is between here and Apple."
                }
            return DoctorCheck("apns", of: subject, .broken, "No connection: \(detail)", advice: advice)
        }
    }

    /// Makes a channel in each app and environment and deletes it at once.
    func channelTrials(of keys: [SigningKeyFacts]) async -> [DoctorCheck] {
        var checks: [DoctorCheck] = []
        for key in keys { checks.append(await channelTrial(of: key)) }
        return checks
    }

    private func channelTrial(of key: SigningKeyFacts) async -> DoctorCheck {
        let made: ChannelID
        do {
            made = try await channels.makeChannel(key.app, key.environment)
        } catch let problem as Problem where problem.code == Problem.Code.outcomeUnknown {
            let finding = "It is not known whether a channel was made: \(Self.words(for: problem))"
            let advice = "Compare with Apple's by `tally channels reconcile --dry-run`, then try again."
            return DoctorCheck("broadcast", of: key.subject, .warning, finding, advice: advice)
        } catch {
            let isRefused = (error as? Problem)?.code == Problem.Code.apnsRefused
            return DoctorCheck(
                "broadcast",
                of: key.subject,
                .broken,
                "No channel could be made: \(Self.words(for: error))",
                advice: isRefused
                    ? "Switch on the broadcast capability of the app id in Apple's developer portal, and look whether the key "
                        + "belongs to the team and environment."
                    : "Apple has not refused the channel. Mend what the other checks find, then try again."
            )
        }
        do {
            try await channels.deleteChannel(key.app, made)
        } catch {
            let finding = "A channel was made, but not deleted: \(Self.words(for: error))"
            let advice = "Tally keeps trying. See `tally channels show \(made)`."
            return DoctorCheck("broadcast", of: key.subject, .warning, finding, advice: advice)
        }
        return DoctorCheck("broadcast", of: key.subject, .ok, "a channel was made and deleted")
    }

    private static func words(for error: any Error) -> String {
        (error as? Problem)?.detail ?? "\(error)"
    }
}
