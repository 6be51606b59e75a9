internal import JSON

extension SchemaComparison {
    // MARK: Objects

    mutating func compareMembers(_ before: SchemaShape, _ after: SchemaShape) {
        guard before.types.contains("object"), after.types.contains("object") else { return }
        compareRequired(before, after)
        compareCases(before, after)
        let (old, new) = (before.keywords["properties"]?.object, after.keywords["properties"]?.object)
        let (oldKeys, newKeys) = (Self.keys(old), Self.keys(new))
        for key in oldKeys.intersection(newKeys).inOrder {
            compare(
                before.pointer.appending("properties").appending(key),
                after.pointer.appending("properties").appending(key)
            )
        }
        for key in newKeys.subtracting(oldKeys).inOrder { compareAdded(key, before, after) }
        for key in oldKeys.subtracting(newKeys).inOrder { compareRemoved(key, before, after) }
        compareOthers(before, after)
    }

    private static func keys(_ properties: JSONObject?) -> Set<ExactText> {
        Set((properties?.keys ?? []).map { ExactText($0) })
    }

    private mutating func compareRequired(_ before: SchemaShape, _ after: SchemaShape) {
        if before.isEnumBeside(after) { return }
        let (old, new) = (before.required, after.required)
        for key in new.subtracting(old).inOrder {
            report(
                .requiredAdded,
                after.pointer.appending("required"),
                "'\(key)' must be there now; content made before need not have it"
            )
        }
        for key in old.subtracting(new).inOrder {
            let pointer = after.keywords["required"] == nil ? after.pointer : after.pointer.appending("required")
            report(.requiredRemoved, pointer, "'\(key)' may be missing now; earlier versions cannot do without it")
        }
    }

    /// Compares the allowed keys of an object that represents an enum with associated values.
    private mutating func compareCases(_ before: SchemaShape, _ after: SchemaShape) {
        guard before.isEnumBeside(after), let old = before.comparableCases, let new = after.comparableCases else {
            return
        }
        let pointer = after.cases != nil ? after.pointer.appending("oneOf") : after.pointer
        for key in old.subtracting(new).inOrder {
            report(.enumNarrowed, pointer, "the case '\(key)' is no longer let in")
        }
        for key in new.subtracting(old).inOrder {
            report(.enumWidened, pointer, "the case '\(key)' is let in now; earlier versions do not know it")
        }
    }

    private mutating func compareAdded(_ key: String, _ before: SchemaShape, _ after: SchemaShape) {
        switch before.keywords["additionalProperties"] {
        case _ where before.mayLookAtUnnamed:
            reportUnnamed(key, after.pointer.appending("properties").appending(key))
        case nil, .bool(true)?: break  // Keys that a reader does not know it passes over.
        case .bool(false)?:
            let pointer = after.pointer.appending("properties").appending(key)
            report(
                .propertyAdded,
                pointer,
                "'\(key)' is let in now; earlier versions refuse keys that they do not know"
            )
        case _?:
            compare(
                before.pointer.appending("additionalProperties"),
                after.pointer.appending("properties").appending(key)
            )
        }
    }

    private mutating func compareRemoved(_ key: String, _ before: SchemaShape, _ after: SchemaShape) {
        let pointer = after.pointer.appending("additionalProperties")
        switch after.keywords["additionalProperties"] {
        case _ where after.mayLookAtUnnamed: reportUnnamed(key, after.pointer)
        case nil, .bool(true)?: break
        case .bool(false)?: report(.propertyRemoved, pointer, "'\(key)' is no longer let in")
        case _?: compare(before.pointer.appending("properties").appending(key), pointer)
        }
    }

    private mutating func reportUnnamed(_ key: String, _ pointer: JSONPointer) {
        report(
            .incomparable,
            pointer,
            "'\(key)' is named in one version alone, and what the other lets in there cannot be compared"
        )
    }

    private mutating func compareOthers(_ before: SchemaShape, _ after: SchemaShape) {
        let pointer =
            after.keywords["additionalProperties"] == nil
            ? after.pointer : after.pointer.appending("additionalProperties")
        switch (before.openness, after.openness) {
        case (.open, .open), (.closed, .closed): break
        case (.some, .some):
            compare(before.pointer.appending("additionalProperties"), after.pointer.appending("additionalProperties"))
        case (_, .closed): report(.propertyRemoved, pointer, "keys that are not named are no longer let in")
        case (.closed, _):
            report(.propertyAdded, pointer, "keys that are not named are let in now; earlier versions refuse them")
        case (.open, .some): report(.typeNarrowed, pointer, "keys that are not named must hold something certain now")
        case (.some, .open):
            report(.typeWidened, pointer, "keys that are not named may hold anything now; not so for earlier versions")
        }
    }

    // MARK: Arrays

    mutating func compareItems(_ before: SchemaShape, _ after: SchemaShape) {
        guard before.types.contains("array"), after.types.contains("array") else { return }
        let (old, new) = (before.keywords["prefixItems"]?.array ?? [], after.keywords["prefixItems"]?.array ?? [])
        guard old.count == new.count else {
            report(
                .incomparable,
                after.pointer.appending("prefixItems"),
                "lists of \(old.count) and of \(new.count) kinds of items cannot be compared"
            )
            return
        }
        for index in old.indices {
            compare(
                before.pointer.appending("prefixItems").appending(index: index),
                after.pointer.appending("prefixItems").appending(index: index)
            )
        }
        switch (before.keywords["items"], after.keywords["items"]) {
        case (nil, nil): break
        case (_?, _?): compare(before.pointer.appending("items"), after.pointer.appending("items"))
        case (nil, _?): report(.typeNarrowed, after.pointer.appending("items"), "items must be something certain now")
        case (_?, nil): report(.typeWidened, after.pointer, "items may be anything now; not so for earlier versions")
        }
    }
}

extension SchemaShape {
    enum Openness { case open, some, closed }

    /// Whether keywords that are not compared constrain unnamed keys.
    fileprivate var mayLookAtUnnamed: Bool {
        keywords["patternProperties"] != nil || keywords["unevaluatedProperties"] != nil
    }

    /// Which values unnamed keys may have.
    fileprivate var openness: Openness {
        switch keywords["additionalProperties"] {
        case nil, .bool(true)?: .open
        case .bool(false)?: .closed
        case _?: .some
        }
    }

    fileprivate var required: Set<ExactText> {
        Set((keywords["required"]?.array ?? []).compactMap(\.string).map { ExactText($0) })
    }

    /// Whether this shape and the other one are compared by their cases.
    func isEnumBeside(_ other: SchemaShape) -> Bool {
        (cases != nil || other.cases != nil) && comparableCases != nil && other.comparableCases != nil
    }

    /// The cases. A single required key is the only case of an enum with one case.
    fileprivate var comparableCases: Set<ExactText>? {
        if let cases { return cases }
        guard keywords["oneOf"] == nil, required.count == 1 else { return nil }
        return required
    }
}

extension Set<ExactText> {
    fileprivate var inOrder: [String] { map(\.text).sorted() }
}
