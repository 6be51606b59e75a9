# tallyd, tally and tally-import in an image without a compiler. docs/guides/deploy.md says how it is used and how it was tried.
ARG SWIFT=6.3-bookworm

FROM swift:${SWIFT} AS build
RUN apt-get -q update \
 && apt-get -q install -y --no-install-recommends libnghttp2-dev libpq-dev libssl-dev pkg-config \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN swift build -c release --product tallyd \
 && swift build -c release --product tally \
 && swift build -c release --product tally-import \
 && install -D -m 755 -t /out .build/release/tallyd .build/release/tally .build/release/tally-import

FROM swift:${SWIFT}-slim
RUN apt-get -q update \
 && apt-get -q install -y --no-install-recommends ca-certificates libnghttp2-14 libpq5 libssl3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --no-create-home --uid 10001 --shell /usr/sbin/nologin tally
COPY --from=build /out/ /usr/local/bin/
USER 10001
# Inside a container, the machine itself is nobody else.
ENV TALLY_HTTP_HOST=0.0.0.0 TALLY_HTTP_PORT=8080
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["tallyd", "health"]
# SIGTERM drains.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tallyd"]
CMD ["serve"]
