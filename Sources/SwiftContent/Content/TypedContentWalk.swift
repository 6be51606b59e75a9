internal import JSON

/// One pass over content along the nodes of its schema.
struct TypedContentWalk {
    /// A limit for schemas with so many branches that a walk would take too long. Beyond it, only JSON Schema is
    /// checked.
    private static let maximumSteps = 200_000
    private static let maximumDepth = 256
    private static let maximumFindings = 100

    let nodes: [TypedContent.Node]
    let author: TypedContent.Author
    let time: TypedContent.TimeReader
    /// Whether the schema names types. Then an incomplete walk must be reported.
    let namesTypes: Bool
    private(set) var findings: [ContentFinding] = []
    private var path: [String] = []
    private var steps = 0
    private var depth = 0

    init(
        nodes: [TypedContent.Node],
        namesTypes: Bool,
        author: TypedContent.Author,
        time: @escaping TypedContent.TimeReader
    ) {
        self.nodes = nodes
        self.namesTypes = namesTypes
        self.author = author
        self.time = time
    }

    /// Converts the value as the node requires; `nil` if it does not change, as most do not.
    mutating func settle(_ value: JSONValue, _ id: Int) -> JSONValue? {
        steps += 1
        guard steps <= Self.maximumSteps, depth < Self.maximumDepth else {
            if namesTypes { report("", "the schema is too branched for its Swift types to be followed here") }
            return nil
        }
        depth += 1
        defer { depth -= 1 }
        let node = nodes[id]
        var settled = settleMembers(value, node)
        for part in node.parts { settled = settle(settled ?? value, part) ?? settled }
        for alternatives in node.alternatives {
            let possible = alternatives.filter { hasRoom(for: settled ?? value, $0, depth: 0) }
            if possible.count == 1 { settled = settle(settled ?? value, possible[0]) ?? settled }
        }
        if let type = node.rawType ?? node.swiftType { settled = settle(settled ?? value, as: type) ?? settled }
        if let limits = node.numbers, case .number(let number) = value, let objection = limits.objection(to: number) {
            report(limits.type, objection, limits.isNamed ? "x-swift-type" : "type")
        }
        return settled
    }

    private mutating func settleMembers(_ value: JSONValue, _ node: TypedContent.Node) -> JSONValue? {
        switch value {
        case .object(let object):
            var settled: JSONObject?
            for (key, member) in object.entries {
                guard let next = node.properties[ExactText(key)] ?? node.otherProperties, !nodes[next].isSilent else {
                    continue
                }
                path.append(key)
                if let member = settle(member, next) {
                    if settled == nil { settled = object }
                    settled?[key] = member
                }
                path.removeLast()
            }
            return settled.map(JSONValue.object)
        case .array(let items):
            var settled: [JSONValue]?
            for (index, item) in items.enumerated() {
                let known = node.firstItems.indices.contains(index) ? node.firstItems[index] : node.otherItems
                guard let known else { break }
                if nodes[known].isSilent { continue }
                path.append(String(index))
                if let item = settle(item, known) {
                    if settled == nil { settled = items }
                    settled?[index] = item
                }
                path.removeLast()
            }
            return settled.map(JSONValue.array)
        case .null, .bool, .number, .string:
            return nil
        }
    }

    /// Whether a node may be meant for a value of this JSON type. A string may be meant for a date.
    mutating func hasRoom(for value: JSONValue, _ id: Int, depth: Int) -> Bool {
        let node = nodes[id]
        steps += 1
        guard steps <= Self.maximumSteps, depth < 16 else { return true }
        let isInside = node.parts.allSatisfy { hasRoom(for: value, $0, depth: depth + 1) }
        if case .string = value, node.swiftType.flatMap(DateEncoding.init(rawValue:)) != nil { return true }
        guard let kinds = node.kinds else { return isInside }
        let own: Set<String> =
            switch value {
            case .null: ["null"]
            case .bool: ["boolean"]
            case .number: ["number", "integer"]
            case .string: ["string"]
            case .array: ["array"]
            case .object: ["object"]
            }
        return isInside && !kinds.isDisjoint(with: own)
    }

    // MARK: Types

    private mutating func settle(_ value: JSONValue, as type: String) -> JSONValue? {
        if let encoding = DateEncoding(rawValue: type) { return settle(value, encoding) }
        switch value {
        case .number(let number):
            if let objection = NumberReading.objection(to: number, as: type) { report(type, objection) }
        case .array(let items):
            checkRange(items, type)
            if type == "Dictionary", items.count % 2 == 1 {
                report(
                    type,
                    "a dictionary without text keys is a list of key, value, key, value, …; \(items.count) items are no pairs"
                )
            }
        case .null, .bool, .string, .object:
            break
        }
        return nil
    }

    private mutating func settle(_ value: JSONValue, _ encoding: DateEncoding) -> JSONValue? {
        switch value {
        case .string(let text):
            guard let point = time(text) else {
                report(
                    encoding.rawValue,
                    "\(JSONValue.string(String(text.prefix(40))).text) is no time such as 2026-11-21T18:00:00Z"
                )
                return nil
            }
            return encoding.value(of: point)
        case .number(let number):
            let doubt = author == .caller ? encoding.doubt(about: number) : nil
            let objection = encoding.objection(to: number) ?? NumberReading.objection(to: number, as: "Date")
            if let objection = doubt ?? objection {
                report(encoding.rawValue, objection)
            }
            return nil
        case .null, .bool, .array, .object:
            return nil
        }
    }

    private mutating func checkRange(_ items: [JSONValue], _ type: String) {
        guard type.hasPrefix("Range<") || type.hasPrefix("ClosedRange<"), items.count == 2 else { return }
        let isUpward: Bool
        switch (items[0], items[1]) {
        case (.number(let lower), .number(let upper)): isUpward = lower <= upper
        // The order of Swift's `String`, because the phone compares with it.
        case (.string(let lower), .string(let upper)): isUpward = lower <= upper
        default: return
        }
        if !isUpward { report(type, "the lower bound of a range is above the upper one") }
    }

    private mutating func report(_ type: String, _ message: String, _ keyword: String = "x-swift-type") {
        guard findings.count < Self.maximumFindings else { return }
        let place = JSONPointer(tokens: path)
        findings.append(ContentFinding(instance: place, swiftType: type, keyword: keyword, message: message))
    }
}
