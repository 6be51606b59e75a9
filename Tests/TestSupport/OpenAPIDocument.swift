package import JSON

/// `docs/openapi.yaml`, read by the Python of the tests.
package struct OpenAPIDocument: Sendable {
    package let json: JSONValue

    /// PyYAML takes the last of two equal keys, which YAML forbids and other readers refuse.
    private static let reading = """
        import json, sys, yaml

        class Loader(yaml.SafeLoader):
            def construct_mapping(self, node, deep=False):
                keys = set()
                for key, _ in node.value:
                    if key.value in keys:
                        raise yaml.constructor.ConstructorError(None, None, f"'{key.value}' is there twice", key.start_mark)
                    keys.add(key.value)
                return super().construct_mapping(node, deep)

        print(json.dumps(yaml.load(open(sys.argv[1]), Loader)))
        """

    /// Reads the file at a path.
    ///
    /// - Throws: `Program.Missing` with the words of the reader for what is not YAML.
    package init(yaml path: String) async throws {
        let output = try await Program.python().run(["-c", Self.reading, path])
        guard output.status == 0 else { throw Program.Missing(description: output.text) }
        json = try JSONValue(parsing: output.text)
    }

    /// One method of one path.
    package struct Operation: Sendable {
        package let id: String
        package let method: String
        package let path: String
        package let json: JSONValue
    }

    /// In the order of the document.
    package var operations: [Operation] {
        (json["paths"]?.object?.entries ?? []).flatMap { path, item in
            (item.object?.entries ?? []).map { method, json in
                Operation(id: json["operationId"]?.string ?? "", method: method.uppercased(), path: path, json: json)
            }
        }
    }

    /// What a reference leads to, or the value itself.
    package func resolved(_ value: JSONValue) -> JSONValue {
        guard let target = value["$ref"]?.string, let pointer = JSONPointer(String(target.dropFirst())) else {
            return value
        }
        return json[pointer] ?? .null
    }

    /// A schema of the document as one that stands for itself.
    package func standalone(_ schema: JSONValue) -> JSONValue {
        var root = schema.object ?? JSONObject()
        root["$defs"] = json["components"]?["schemas"]
        let text = JSONValue.object(root).text.replacing("#/components/schemas/", with: "#/$defs/")
        // Text that was JSON with other words in its strings is JSON.
        return (try? JSONValue(parsing: text)) ?? .null
    }
}
