import JSON

/// What the simulator tells of one phone.
struct PhoneStory: Sendable {
    let json: JSONValue

    var id: String { json["id"]?.string ?? "" }
    var secondCards: Int64 { json["second_cards"]?.int64 ?? 0 }
    var receivedCount: Int64 { json["received"]?.int64 ?? 0 }
    var follows: [String] { json["follows"]?.array?.compactMap(\.string) ?? [] }

    /// The cards of an activity, the newest last.
    func cards(of activity: String) -> [JSONValue] {
        json["activities"]?.array?.filter { $0["activity_id"]?.string == activity } ?? []
    }

    /// What the newest card of an activity shows.
    func contentState(of activity: String) -> JSONValue? { cards(of: activity).last?["content_state"] }

    /// The state of the newest card: `active`, `ended`, `dismissed`, …
    func state(of activity: String) -> String? { cards(of: activity).last?["state"]?.string }

    /// Every push in the order of arrival; only of a single phone.
    var pushes: [JSONValue] { json["pushes"]?.array ?? [] }
}

/// What the simulator says of a match.
struct MatchReport: Sendable {
    let json: JSONValue

    var phones: Int64 { json["phones"]?.int64 ?? -1 }
    var right: Int64 { json["right"]?.int64 ?? -1 }
    var secondCards: Int64 { json["second_cards"]?.int64 ?? -1 }
    var isRight: Bool { phones > 0 && right == phones }

    /// What is wrong at whom, one line each.
    var wrong: [String] {
        (json["wrong"]?.array ?? []).map {
            "\($0["phone"]?.string ?? "") \($0["activity_id"]?.string ?? ""): \($0["why"]?.string ?? "")"
        }
    }

    /// How often phones ignored a push for this reason.
    func ignored(_ reason: String) -> Int64 {
        json["ignored"]?.array?.first { $0["reason"]?.string == reason }?["count"]?.int64 ?? 0
    }
}
