import ArgumentParser
import Foundation
import JSON
import TestSupport
import Testing

@testable import tallyd

/// The manifests in docs/samples/deploy/kubernetes.
@Suite("Manifests for Kubernetes")
struct KubernetesSampleTests {
    /// Reads the list of kustomization.yaml, or what kustomize made of it, and checks each object by the schemas of
    /// Kubernetes, without unknown fields.
    private static let script = """
        import json, os, sys, yaml, kubernetes_validate
        folder, built = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
        listed = yaml.safe_load(open(os.path.join(folder, "kustomization.yaml")))
        texts = [built] if built else [open(os.path.join(folder, name)).read() for name in listed["resources"]]
        objects = [one for text in texts for one in yaml.safe_load_all(text)]
        errors = []
        for one in objects:
            for version in ["1.29", "1.33", "1.37"]:
                if one["kind"] == "ServiceMonitor": continue
                try: kubernetes_validate.validate(one, version, strict=True)
                except Exception as error: errors.append(f"{one['kind']} in {version}: {str(error)[:300]}")
        print(json.dumps({"listed": listed["resources"], "objects": objects, "errors": errors}))
        """

    private static let folder = Document.root.appending(path: "docs/samples/deploy/kubernetes").path

    private static func read(built: String? = nil) async throws -> JSONValue {
        let output = try await Program.python().run(["-c", script, folder] + (built.map { [$0] } ?? []))
        try #require(output.status == 0, "\(output.text)")
        return try JSONValue(parsing: output.text)
    }

    private static func object(_ kind: String, _ name: String = "tally") async throws -> JSONValue {
        let objects = try await read()["objects"]?.array ?? []
        return try #require(objects.first { $0["kind"]?.string == kind && $0["metadata"]?["name"]?.string == name })
    }

    @Test("every file is listed, and every object is one that Kubernetes takes")
    func schemas() async throws {
        let read = try await Self.read()
        #expect(read["errors"]?.array == [])
        let kinds = read["objects"]?.array?.compactMap { $0["kind"]?.string } ?? []
        #expect(
            kinds.sorted() == [
                "Deployment", "Job", "NetworkPolicy", "PodDisruptionBudget", "Service", "Service", "ServiceMonitor",
            ]
        )
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter {
            $0 != "kustomization.yaml"
        }
        #expect(Set(files) == Set(read["listed"]?.array?.compactMap(\.string) ?? []))
    }

    @Test(
        "kustomize builds the same objects, each in the namespace, with the image that the list sets",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/kubectl"), "kubectl is not installed")
    )
    func kustomize() async throws {
        let output = try await Program("kubectl").run(["kustomize", Self.folder])
        try #require(output.status == 0, "\(output.text)")
        let built = try await Self.read(built: output.text)
        #expect(built["errors"]?.array == [])
        let objects = built["objects"]?.array ?? []
        #expect(objects.count == (try await Self.read())["objects"]?.array?.count)
        for object in objects { #expect(object["metadata"]?["namespace"] == "tally", "\(object)") }
        let images = objects.compactMap {
            $0["spec"]?["template"]?["spec"]?["containers"]?.array?.first?["image"]?.string
        }
        #expect(images == ["tally:0.1.0", "tally:0.1.0"])
    }

    @Test("the containers have settings that exist, commands that parse, and the files that the settings name")
    func containers() async throws {
        for (kind, name) in [("Deployment", "tally"), ("Job", "tally-migrate")] {
            let pod = try #require(try await Self.object(kind, name)["spec"]?["template"]?["spec"])
            let container = try #require(pod["containers"]?.array?.first)
            _ = try Tallyd.parseAsRoot(container["args"]?.array?.compactMap(\.string) ?? [])
            let mount = try #require(container["volumeMounts"]?.array?.first?["mountPath"]?.string)
            let items = pod["volumes"]?.array?.first?["secret"]?["items"]?.array ?? []
            let files = items.compactMap { $0["path"]?.string }.map { "\(mount)/\($0)" }
            for setting in container["env"]?.array ?? [] {
                let name = try #require(setting["name"]?.string)
                #expect(DaemonConfiguration.keys.contains { [$0.name, $0.fileName].contains(name) }, "\(name)")
                if name.hasSuffix("_FILE") { #expect(files.contains(setting["value"]?.string ?? ""), "\(name)") }
            }
            #expect(pod["securityContext"]?["runAsUser"] == 10001, "the user of the Dockerfile")
            #expect(container["securityContext"]?["readOnlyRootFilesystem"] == true)
            #expect(container["securityContext"]?["capabilities"]?["drop"]?.array == ["ALL"])
        }
    }

    @Test("the daemon has time to stop, and probes of paths that it serves")
    func lifecycle() async throws {
        let pod = try #require(try await Self.object("Deployment")["spec"]?["template"]?["spec"])
        let container = try #require(pod["containers"]?.array?.first)
        let drain = try #require(Self.environment(container)["TALLY_DRAIN_SECONDS"].flatMap { Int64($0) })
        let grace = try #require(pod["terminationGracePeriodSeconds"]?.int64)
        #expect(grace > drain + 30)
        #expect(container["readinessProbe"]?["httpGet"]?["path"]?.string == "/health/ready")
        for probe in ["startupProbe", "livenessProbe"] {
            #expect(container[probe]?["httpGet"]?["path"]?.string == "/health/live")
        }
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            #expect(container[probe]?["httpGet"]?["port"]?.string == "http")
        }
    }

    @Test("ports and labels fit together: the phones' Service leads to the phones' port, and metrics to Prometheus")
    func wiring() async throws {
        let deployment = try await Self.object("Deployment")
        let pod = try #require(deployment["spec"]?["template"])
        let container = try #require(pod["spec"]?["containers"]?.array?.first)
        let settings = Self.environment(container)
        let ports = container["ports"]?.array ?? []
        for (name, setting) in [
            ("http", "TALLY_HTTP_PORT"), ("phones", "TALLY_PHONES_PORT"), ("metrics", "TALLY_METRICS_PORT"),
        ] {
            let port = ports.first { $0["name"]?.string == name }?["containerPort"]?.int64
            #expect(port.map(String.init) == settings[setting], "\(name)")
        }
        let labels = try #require(pod["metadata"]?["labels"])
        let services = [try await Self.object("Service"), try await Self.object("Service", "tally-phones")]
        let budget = try await Self.object("PodDisruptionBudget")
        let selectors = [deployment["spec"]?["selector"]?["matchLabels"], budget["spec"]?["selector"]?["matchLabels"]]
        for selector in selectors + services.map({ $0["spec"]?["selector"] }) { #expect(selector == labels) }
        #expect(Self.targets(services[0]) == ["http", "metrics"])
        #expect(Self.targets(services[1]) == ["phones"])
        let monitor = try await Self.object("ServiceMonitor")
        #expect(monitor["spec"]?["selector"]?["matchLabels"] == services[0]["metadata"]?["labels"])
        #expect(monitor["spec"]?["endpoints"]?.array?.first?["port"]?.string == "metrics")
        let policy = try await Self.object("NetworkPolicy")
        let allowed = policy["spec"]?["ingress"]?.array?.flatMap { rule in
            rule["ports"]?.array?.compactMap { $0["port"]?.string } ?? []
        }
        #expect(allowed == ["http", "phones", "metrics"])
    }

    @Test("the sample Ingress is one that Kubernetes takes, and leads to the phones' Service alone")
    func ingress() async throws {
        let text = try Document(path: "docs/samples/deploy/ingress.yaml").text()
        let read = try await Self.read(built: text)
        #expect(read["errors"]?.array == [])
        let ingress = try #require(read["objects"]?.array?.first)
        #expect(read["objects"]?.array?.count == 1 && ingress["kind"] == "Ingress")
        #expect(ingress["metadata"]?["namespace"] == "tally")
        let paths = ingress["spec"]?["rules"]?.array?.flatMap { $0["http"]?["paths"]?.array ?? [] } ?? []
        #expect(paths.count == 1)
        let service = try #require(paths.first?["backend"]?["service"])
        let phones = try await Self.object("Service", "tally-phones")
        #expect(service["name"] == phones["metadata"]?["name"])
        #expect(service["port"]?["name"] == phones["spec"]?["ports"]?.array?.first?["name"])
        #expect(ingress["spec"]?["defaultBackend"] == nil)
    }

    private static func environment(_ container: JSONValue) -> [String: String] {
        let pairs = (container["env"]?.array ?? []).compactMap { setting in
            setting["value"]?.string.map { (setting["name"]?.string ?? "", $0) }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private static func targets(_ service: JSONValue) -> [String] {
        (service["spec"]?["ports"]?.array ?? []).compactMap { $0["targetPort"]?.string }
    }
}
