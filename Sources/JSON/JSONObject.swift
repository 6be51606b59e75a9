/// The members of a JSON object, in their order in the document.
///
/// Equality ignores the order. Keys are compared by code points. Lookup scans up to ``indexThreshold`` members and uses
/// a hash index for larger objects, so a hostile document with many keys costs linear time.
package struct JSONObject: Sendable {
    private static let indexThreshold = 12
    private static let usualCount = 6

    /// The members in order.
    package private(set) var entries: [(key: String, value: JSONValue)] = []
    /// The position of every key; only for objects above the threshold.
    private var places: [ExactText: Int]?

    /// An object without members.
    package init() {}

    /// An object of these members. If a key is repeated, its first position and its last value count.
    package init(_ entries: some Sequence<(String, JSONValue)>) {
        for (key, value) in entries {
            self[key] = value
        }
    }

    /// The keys in order.
    package var keys: [String] { entries.map(\.key) }

    /// How many members there are.
    package var count: Int { entries.count }

    /// Whether there are no members.
    package var isEmpty: Bool { entries.isEmpty }

    /// The value of a key. Setting a new key appends it; setting `nil` removes the member.
    package subscript(key: String) -> JSONValue? {
        get { place(of: key).map { entries[$0].value } }
        set {
            switch (place(of: key), newValue) {
            case (let place?, let value?):
                entries[place].value = value
            case (nil, let value?):
                append(key, value)
            case (let place?, nil):
                entries.remove(at: place)
                places = nil
                indexIfLarge()
            case (nil, nil):
                break
            }
        }
    }

    /// Whether there is a member of that name. `guess` is the position to check first.
    package func contains(_ key: String, near guess: Int) -> Bool {
        guess < entries.count && ExactText.equal(entries[guess].key, key) || place(of: key) != nil
    }

    /// Appends a member unless its key exists. `isNew` skips the lookup for a key that is known to be new.
    ///
    /// - Returns: Whether it was appended.
    mutating func append(_ key: String, _ value: JSONValue, isNew: Bool) -> Bool {
        guard isNew || place(of: key) == nil else { return false }
        append(key, value)
        return true
    }

    private mutating func append(_ key: String, _ value: JSONValue) {
        // Most objects have a few members. Reserving room for them avoids several allocations.
        if entries.isEmpty { entries.reserveCapacity(Self.usualCount) }
        entries.append((key, value))
        if places != nil {
            places?[ExactText(key)] = entries.count - 1
        } else {
            indexIfLarge()
        }
    }

    private func place(of key: String) -> Int? {
        if let places { return places[ExactText(key)] }
        for index in entries.indices where ExactText.equal(entries[index].key, key) { return index }
        return nil
    }

    private mutating func indexIfLarge() {
        guard entries.count > Self.indexThreshold else { return }
        var places: [ExactText: Int] = [:]
        places.reserveCapacity(entries.count * 2)
        for (place, entry) in entries.enumerated() {
            places[ExactText(entry.key)] = place
        }
        self.places = places
    }
}

extension JSONObject: Hashable {
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        for (mine, other) in zip(left.entries, right.entries) {
            // Most compared objects have the same key order, so the same position is tried first.
            if ExactText.equal(mine.key, other.key) {
                guard mine.value == other.value else { return false }
            } else {
                guard let value = right[mine.key], value == mine.value else { return false }
            }
        }
        return true
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        var sum = 0
        for (key, value) in entries {
            var member = Hasher()
            ExactText.hash(key, into: &member)
            member.combine(value)
            sum &+= member.finalize()
        }
        hasher.combine(sum)
    }
}
