package import JSON

// The messages of the program `tally-import`: one JSON document as request and one as answer. Both programs are from
// the same build.

extension ImportRequest {
    /// The form that `tally-import` reads.
    package var json: JSONValue {
        var object: JSONObject = [
            "sources": .array(sources.map { ["name": .string($0.name), "text": .string($0.text)] }),
            "supplied": .object(JSONObject(supplied.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })),
        ]
        if let typeName { object["type"] = .string(typeName) }
        return .object(object)
    }

    /// `nil` if this is not a valid request.
    package init?(json: JSONValue) {
        guard let sources = json["sources"]?.array, let supplied = json["supplied"]?.object else { return nil }
        let read = sources.compactMap { source -> SwiftSource? in
            guard let name = source["name"]?.string, let text = source["text"]?.string else { return nil }
            return SwiftSource(name: name, text: text)
        }
        guard read.count == sources.count else { return nil }
        self.init(
            read,
            typeName: json["type"]?.string,
            supplied: Dictionary(supplied.entries.map { ($0.key, $0.value) }) { $1 }
        )
    }
}

/// The result of a request.
package enum ImportAnswer: Sendable, Hashable {
    case made(ImportedSchemas)
    case refused(SwiftImportError)

    /// The form that `tally-import` writes.
    package var json: JSONValue {
        switch self {
        case .made(let schemas):
            [
                "type": .string(schemas.typeName), "attributes_schema": schemas.attributes,
                "content_state_schema": schemas.contentState,
            ]
        case .refused(let error): ["problems": .array(error.problems.map(\.json))]
        }
    }

    /// `nil` if this is not a valid answer.
    package init?(json: JSONValue) {
        if let problems = json["problems"]?.array {
            let read = problems.compactMap { SwiftImportError.Problem(json: $0) }
            guard !read.isEmpty, read.count == problems.count else { return nil }
            self = .refused(SwiftImportError(read))
        } else {
            guard let name = json["type"]?.string, let attributes = json["attributes_schema"],
                let contentState = json["content_state_schema"]
            else { return nil }
            self = .made(ImportedSchemas(typeName: name, attributes: attributes, contentState: contentState))
        }
    }
}

extension SwiftImportError.Problem {
    fileprivate var json: JSONValue {
        var object: JSONObject = ["message": .string(message)]
        if let place {
            object["file"] = .string(place.file)
            object["line"] = .number(JSONNumber(place.line))
            object["column"] = .number(JSONNumber(place.column))
        }
        if let supplied { object["supplied"] = .string(supplied.description) }
        return .object(object)
    }

    fileprivate init?(json: JSONValue) {
        guard let message = json["message"]?.string else { return nil }
        var place: SourcePlace?
        if let file = json["file"]?.string, let line = json["line"]?.int64, let column = json["column"]?.int64 {
            place = SourcePlace(file: file, line: Int(line), column: Int(column))
        }
        self.init(
            place: place,
            supplied: json["supplied"]?.string.flatMap { JSONPointer($0) },
            message: message
        )
    }
}
