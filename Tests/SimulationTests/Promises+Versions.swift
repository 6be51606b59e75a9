/// Promise 8: nothing undecodable leaves.
extension Universe {
    /// Whether the app on a phone decodes a state.
    func decodes(_ phone: Phone, _ hasMinute: Bool) -> Bool {
        !hasTwoVersions || hasMinute || phone.appVersion != Self.newerApp
    }

    /// What went to a phone is what its app decodes, as far as Tally knows the app; and what went to a channel every
    /// app does.
    func checkVersions() throws {
        let (phones, sent) = apple.with { ($0.phones, $0.sent) }
        let owners = Dictionary(
            phones.flatMap { phone in (phone.startTokens + phone.cards.flatMap(\.tokens)).map { ($0, phone) } },
            uniquingKeysWith: { first, _ in first }
        )
        for push in sent {
            guard let content = push.push.content else {
                guard push.push.event == "end" else {
                    throw BrokenPromise(8, "\(push.destination) got a \(push.push.event) without a state")
                }
                continue
            }
            let isDecoded =
                if let owner = owners[push.destination] {
                    // What a turn had read before Tally knew may still leave.
                    content.hasMinute || !hasTwoVersions || push.turn.uptime <= owner.newerSince ?? .max
                } else {
                    // A channel's.
                    content.hasMinute || !hasTwoVersions
                }
            guard isDecoded else {
                throw BrokenPromise(8, "\(push.destination) got score \(content.score), which its app cannot decode")
            }
        }
    }
}
