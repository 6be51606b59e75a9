internal import JSON

/// A `$ref` or `$dynamicRef` whose target is not resolved yet.
struct SchemaReference {
    let isDynamic: Bool
    let text: String
    /// Its index in the table of its kind.
    let index: Int
    let place: SchemaPlace
    let base: URIReference

    init(_ context: KeywordContext, text: String, index: Int) {
        isDynamic = context.keyword == "$dynamicRef"
        self.text = text
        self.index = index
        place = context.place.appending(context.keyword)
        base = context.scope.base
    }

    /// The full URI of its target.
    var target: URIReference { URIReference(text).resolved(against: base) }
}

extension SchemaCompiler {
    /// Resolves a reference. Reads the target's document if that has not happened yet.
    mutating func join(_ reference: SchemaReference) throws(SchemaError) {
        let target = reference.target
        try Self.check(target, at: reference.place)
        let name = target.withoutFragment.text
        if !resources.isKnown(name) {
            guard let document = knownDocument(name) else {
                let message =
                    "'\(reference.text)' leads to '\(name)', which is not known here; nothing is fetched."
                throw SchemaError(code: .unresolvedReference, place: reference.place, message: message)
            }
            try read(document, name: name)
        }
        guard let resource = resources[name], let fragment = Self.percentDecoded(target.fragment ?? ""),
            let id = schema(fragment, in: resource)
        else {
            let message = "'\(reference.text)' leads to no schema."
            throw SchemaError(code: .unresolvedReference, place: reference.place, message: message)
        }
        if reference.isDynamic {
            tables.dynamicReferences[reference.index].fallback = id
        } else {
            tables.references[reference.index] = id
        }
    }

    /// Refuses URIs that would be expensive to resolve.
    static func check(_ uri: URIReference, at place: SchemaPlace) throws(SchemaError) {
        guard uri.text.utf8.count > URIReference.maximumLength else { return }
        let message = "A URI may have at most \(URIReference.maximumLength) bytes."
        throw SchemaError(code: .tooLarge, place: place, message: message)
    }

    /// Resolves a dynamic reference to its possible targets, after all documents have been read.
    mutating func joinDynamically(_ reference: SchemaReference) {
        guard reference.isDynamic, let fragment = Self.percentDecoded(reference.target.fragment ?? ""),
            !fragment.isEmpty, !fragment.hasPrefix("/")
        else { return }
        let fallback = tables.dynamicReferences[reference.index].fallback
        tables.dynamicReferences[reference.index].targets = resources.dynamicTargets(
            fragment,
            including: fallback,
            of: tables.nodes[fallback].resource
        )
    }

    private func schema(_ fragment: String, in resource: Int) -> SchemaNode.ID? {
        if fragment.isEmpty || fragment.hasPrefix("/") {
            return JSONPointer(fragment).flatMap { resources.descend(from: resources.root(of: resource), $0) }
        }
        return resources.anchor(fragment, in: resource)
    }

    /// Decodes the percent escapes of a URI; `nil` if one is malformed or the result is not UTF-8.
    static func percentDecoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(\.isHexadecimalDigit),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
