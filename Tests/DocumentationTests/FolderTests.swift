import Testing

/// No cycle among the folders of a room. Otherwise a newcomer has to read all of them at once.
@Suite("The folders of the rooms")
struct FolderTests {
    /// A file of a room, and the types that it declares.
    private struct Source {
        let folder: String
        let words: Set<Substring>
        let declared: Set<Substring>

        init(_ path: String) throws {
            let parts = path.split(separator: "/")
            folder = parts.count > 3 ? String(parts[2]) : ""
            let code = try Document(path: path).text().split(separator: "\n")
                .filter { $0.firstMatch(of: /^ *\/\//) == nil }.joined(separator: "\n")
            words = Set(code.matches(of: /\b[A-Z]\w+/).map { $0.output })
            let declaration =
                /(?:^|\n)(?:package |private |fileprivate |final |indirect )*(?:struct|class|enum|protocol|actor|typealias) ([A-Z]\w*)/
            declared = Set(code.matches(of: declaration).map { $0.output.1 })
        }
    }

    @Test(
        "No two of them need each other, not even by way of others",
        arguments: [
            "Cards", "Channels", "Delivery", "DeliveryStore", "Intake", "Orchestrator", "Record", "Registry", "Store",
            "Webhooks",
        ]
    )
    func cycles(room: String) throws {
        let sources = try Document.files(in: "Sources/\(room)", ending: ".swift").map { try Source($0) }
            .filter { !$0.folder.isEmpty }
        let folders = Dictionary(grouping: sources, by: \.folder)
        var needs: [String: Set<String>] = [:]
        for (folder, files) in folders {
            let words = files.reduce(into: Set<Substring>()) { $0.formUnion($1.words) }
            let own = files.reduce(into: Set<Substring>()) { $0.formUnion($1.declared) }
            needs[folder] = Set(
                folders.filter { other, files in
                    other != folder && files.contains { !$0.declared.subtracting(own).isDisjoint(with: words) }
                }.keys
            )
        }
        for folder in folders.keys {
            var reached: Set<String> = []
            var next = needs[folder] ?? []
            while let step = next.popFirst() {
                if reached.insert(step).inserted { next.formUnion(needs[step] ?? []) }
            }
            #expect(!reached.contains(folder), "\(room)/\(folder) needs \(reached.sorted()), and they need it")
        }
    }
}
