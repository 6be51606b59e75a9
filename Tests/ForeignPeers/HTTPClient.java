import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/**
 * Asks a server the same twenty things that every foreign HTTP client asks, by the client of the JDK as it is, which
 * offers HTTP/2 with each request (Upgrade: h2c), and prints the statuses.
 *
 * java HTTPClient.java URL KEY APP; or URL alone: GET /health twenty times
 */
class HTTPClient {
    private final HttpClient client = HttpClient.newHttpClient();
    private final String url;
    private final String key;

    HTTPClient(String url, String key) {
        this.url = url;
        this.key = key;
    }

    void ask(String method, String path, String type, String body, boolean expects) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path))
                .timeout(Duration.ofSeconds(20))
                .header("Authorization", "Bearer " + key)
                .expectContinue(expects)
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        if (type != null) {
            request.header("Content-Type", type);
        }
        HttpResponse<String> answer = client.send(request.build(), BodyHandlers.ofString());
        if (method.equals("HEAD")) {
            long length = answer.headers().firstValueAsLong("Content-Length").orElse(0);
            if (!answer.body().isEmpty() || length == 0) {
                throw new IllegalStateException("HEAD: " + answer.body() + " " + length);
            }
        }
        System.out.println(method + " " + answer.statusCode());
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1) {
            HTTPClient client = new HTTPClient(arguments[0], "none");
            for (int number = 0; number < 20; number++) {
                client.ask("GET", "/health", null, null, false);
            }
            return;
        }
        HTTPClient client = new HTTPClient(arguments[0], arguments[1]);
        String path = "/v1/apps/" + arguments[2];
        String validate = path + "/types/GameAttributes/validate";
        String device = "{\"environment\": \"production\", \"os_version\": \"18.1\"}";
        String large = "{\"content_state\": {\"text\": \"" + "x".repeat(900_000) + "\"}}";
        for (int round = 0; round < 4; round++) {
            client.ask("GET", "/health/live", null, null, false);
            client.ask("HEAD", path, null, null, false);
            if (round == 3) {
                break;
            }
            client.ask("GET", path, null, null, false);
            client.ask("PUT", path + "/devices/foreign", "application/json", device, true);
            client.ask("POST", validate, "application/json", large, false);
            // Refused by its head, and its body is there all the same.
            client.ask("POST", validate, "text/plain", "no JSON", false);
        }
        System.exit(0);
    }
}
