package import JSON

/// What the simulator tells of one phone.
package struct PhoneStory: Sendable {
    package let json: JSONValue

    package init(json: JSONValue) {
        self.json = json
    }

    package var id: String { json["id"]?.string ?? "" }
    package var secondCards: Int64 { json["second_cards"]?.int64 ?? 0 }
    package var receivedCount: Int64 { json["received"]?.int64 ?? 0 }
    package var follows: [String] { json["follows"]?.array?.compactMap(\.string) ?? [] }

    /// The cards of an activity, the newest last.
    package func cards(of activity: String) -> [JSONValue] {
        json["activities"]?.array?.filter { $0["activity_id"]?.string == activity } ?? []
    }

    /// What the newest card of an activity shows.
    package func contentState(of activity: String) -> JSONValue? { cards(of: activity).last?["content_state"] }

    /// The state of the newest card: `active`, `ended`, `dismissed`, …
    package func state(of activity: String) -> String? { cards(of: activity).last?["state"]?.string }

    /// Every push in the order of arrival; only of a single phone.
    package var pushes: [JSONValue] { json["pushes"]?.array ?? [] }
}

/// What the simulator says of a match.
package struct MatchReport: Sendable {
    package let json: JSONValue

    package init(json: JSONValue) {
        self.json = json
    }

    package var phones: Int64 { json["phones"]?.int64 ?? -1 }
    package var right: Int64 { json["right"]?.int64 ?? -1 }
    package var secondCards: Int64 { json["second_cards"]?.int64 ?? -1 }
    package var isRight: Bool { phones > 0 && right == phones }

    /// A phone that does not show what it should.
    package struct WrongPhone: Sendable, Hashable, CustomStringConvertible {
        package let device: String
        package let activity: String
        package let why: String

        package var description: String { "\(device) \(activity): \(why)" }
    }

    package var wrong: [WrongPhone] {
        (json["wrong"]?.array ?? []).map {
            WrongPhone(
                device: $0["phone"]?.string ?? "",
                activity: $0["activity_id"]?.string ?? "",
                why: $0["why"]?.string ?? ""
            )
        }
    }

    /// How often phones ignored a push for this reason.
    package func ignored(_ reason: String) -> Int64 {
        json["ignored"]?.array?.first { $0["reason"]?.string == reason }?["count"]?.int64 ?? 0
    }
}
