internal import JSON

/// The possible targets of references: the names of resources, their anchors, and the schemas inside schemas.
struct SchemaResources {
    private struct Resource {
        let root: SchemaNode.ID
        var anchors: [ExactText: SchemaNode.ID] = [:]
    }

    private struct Child: Hashable {
        let parent: SchemaNode.ID
        /// The keyword. If it has several schemas, then also `/` and the name or index. Keywords contain no `/`.
        let step: ExactText
    }

    private var resources: [Resource] = []
    private var names: [ExactText: Int] = [:]
    private var children: [Child: SchemaNode.ID] = [:]
    /// The schemas of every dynamic anchor, by resource.
    private var dynamicAnchors: [ExactText: [Int: SchemaNode.ID]] = [:]

    // MARK: Names

    /// The index of the resource of that name.
    subscript(name: String) -> Int? { names[ExactText(name)] }

    func isKnown(_ name: String) -> Bool { self[name] != nil }

    func root(of resource: Int) -> SchemaNode.ID { resources[resource].root }

    mutating func add(name: String, root: SchemaNode.ID) -> Int {
        resources.append(Resource(root: root))
        names[ExactText(name)] = resources.count - 1
        return resources.count - 1
    }

    /// Gives a resource another name; false if a different resource already has it.
    mutating func addName(_ name: String, to resource: Int) -> Bool {
        let previous = names.updateValue(resource, forKey: ExactText(name))
        return previous == nil || previous == resource
    }

    // MARK: Anchors

    /// Names a schema within its resource; false if the name already exists there.
    mutating func addAnchor(_ name: String, _ id: SchemaNode.ID, in resource: Int, isDynamic: Bool) -> Bool {
        let name = ExactText(name)
        let previous = resources[resource].anchors.updateValue(id, forKey: name)
        if isDynamic { dynamicAnchors[name, default: [:]][resource] = id }
        return previous == nil || previous == id
    }

    func anchor(_ name: String, in resource: Int) -> SchemaNode.ID? { resources[resource].anchors[ExactText(name)] }

    /// The schemas of a dynamic anchor, by resource; empty unless `id`, a schema of that resource, is one of them.
    func dynamicTargets(_ name: String, including id: SchemaNode.ID, of resource: Int) -> [Int: SchemaNode.ID] {
        // All references to that anchor share one storage. There can be as many references as resources.
        guard let targets = dynamicAnchors[ExactText(name)], targets[resource] == id else { return [:] }
        return targets
    }

    // MARK: Locations

    mutating func setChild(_ id: SchemaNode.ID, of parent: SchemaNode.ID, _ keyword: String, _ token: String?) {
        children[Child(parent: parent, step: Self.step(keyword, token))] = id
    }

    /// The schema at a path inside another one; `nil` if the path has no schema.
    func descend(from id: SchemaNode.ID, _ pointer: JSONPointer) -> SchemaNode.ID? {
        var id = id
        var tokens = pointer.tokens[...]
        while let keyword = tokens.popFirst() {
            if let child = children[Child(parent: id, step: Self.step(keyword, nil))] {
                id = child
            } else if let token = tokens.popFirst(),
                let child = children[Child(parent: id, step: Self.step(keyword, token))]
            {
                id = child
            } else {
                return nil
            }
        }
        return id
    }

    private static func step(_ keyword: String, _ token: String?) -> ExactText {
        ExactText(token.map { keyword + "/" + $0 } ?? keyword)
    }
}
