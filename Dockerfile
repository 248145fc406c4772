# One image for every service: `docker run … IMAGE node services/coordinator/main.js`. docker-compose.yml names all of them.

FROM node:20-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json prisma.config.ts ./
COPY scripts/generate-client.mjs scripts/
COPY prisma prisma/
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY shared shared/
COPY services services/
RUN npm run build

# Without optional packages as well: those are an embedded Postgres and what runs TypeScript, and neither is needed here.
FROM node:20-bookworm-slim AS dependencies
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:20-bookworm-slim
# A larger young generation: what a workflow allocates is dead before it is looked at, and collecting it costs half.
ENV NODE_OPTIONS=--max-semi-space-size=64
ENV NODE_ENV=production HOST=0.0.0.0 SANDBOX_HOST=0.0.0.0 METRICS_PORT=9464 TOCSIN_DATA_DIR=/data
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /src/node_modules node_modules/
COPY --from=build /src/dist/shared shared/
COPY --from=build /src/dist/services services/
COPY prisma/migrations prisma/migrations/
COPY policies policies/
COPY templates templates/
COPY deploy/healthcheck.mjs deploy/
RUN mkdir /data /artifacts && chown node:node /data /artifacts
USER node
VOLUME /data
EXPOSE 3000 3001 3002 2525 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "deploy/healthcheck.mjs"]
# No shell in between: the service is process 1, hears SIGTERM itself, and starts no other processes that somebody would have to reap.
STOPSIGNAL SIGTERM
CMD ["node", "services/intake/main.js"]
