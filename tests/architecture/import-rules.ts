/**
 * The allowed imports: the table of docs/architecture.md in full. It is an allow-list.
 *
 * - The FIRST row whose pattern matches a file applies to it, so narrow rows come before wide ones.
 * - A file that no row matches may import nothing. A new folder needs a row.
 * - `may`: files it may import, in any way. `types`: files it may import with `import type` only, and that wins over `may`.
 *   SELF wins over both: the folder that the row's own pattern matched (for dashboard features the one feature, not all).
 * - `packages`: names without their subpath (`drizzle-orm` covers `drizzle-orm/libsql`); `node:*` is every built-in.
 *
 * SEAM marks a type that still lives in the wrong place.
 * To extend it, add one line to the narrowest row that needs it, and say why in a comment.
 */
export interface Rule {
  readonly files: readonly string[]
  readonly may?: readonly string[]
  readonly types?: readonly string[]
  readonly packages?: readonly string[]
}

export const SELF = 'SELF'

const JSON_GUARDS = 'server/core/json.ts'

const BASE = [
  'server/core/money.ts',
  'server/core/ids.ts',
  'server/core/clock.ts',
  'server/core/result.ts',
  'server/core/failure.ts',
  // Every change is written together with its audit entry.
  'server/core/audit.ts',
  'server/core/page.ts',
  // The port for secrets that must be read back.
  'server/core/sealing.ts',
  // The allowed characters of a name or text of any origin.
  'server/core/plain-text.ts',
  'server/core/version.ts',
  // For concerns that read, decide and write, one change at a time.
  'server/core/keyed-mutex.ts',
  // Guards for parsed JSON.
  JSON_GUARDS,
]
const CORE = 'server/core/**'
const PIPELINE = 'server/pipeline/**'
const PROVIDERS = 'server/core/providers/**'
const PARAMETERS = 'server/core/catalog/parameters.ts'
const OPERATION = 'server/core/catalog/operation.ts'
// A usage event is a call record that was charged.
const USAGE_EVENT = 'server/core/usage/call-record.ts'
/** The observations of calls. */
const TELEMETRY = 'server/core/telemetry/**'
const KEY_SIZES = 'server/core/credentials/api-key.ts'
const SAVED_VIEWS = 'server/core/accounts/account-settings.ts'
const PASSWORD = 'server/core/accounts/password.ts'
const TOP_UP_RANGE = 'server/core/accounts/top-up-range.ts'
const TIER = 'server/core/limits/tier.ts'
const DOCUMENT_SIZE = 'server/core/apis/document-size.ts'
const PASSAGES = 'server/adapters/websearch/passages/**'
const IDENTITY_SCHEMA = [
  'server/adapters/stores/libsql/schema/identity.ts',
  'server/adapters/stores/libsql/schema/oauth.ts',
]

/** The documents of one resource, and the schemas of its records. */
const RESOURCE_DOCS = ['server/http/*/**/*docs.ts', 'server/http/keys/key-failures.ts']
/** The records of each resource: schemas that validate bodies, type answers, and are the documents. */
const RECORDS = ['server/http/*/**/*record.ts', 'server/http/keys/key-history.ts', 'server/http/keys/keys-csv.ts']
/** The base of every resource. */
const EVERY_RESOURCE = [
  'server/http/middleware/**',
  'server/http/routing/**',
  'server/http/openapi/**',
  ...RESOURCE_DOCS,
  ...RECORDS,
]

const CRYPTO = 'node:crypto'
const REACT = [
  'react',
  'react-dom',
  '@tanstack/react-query',
  '@tanstack/react-router',
  '@elysiajs/eden',
  'clsx',
  'lucide-react',
  'radix-ui',
  'recharts',
  'sonner',
]
/** Text, and values outside React that components follow. */
const TEXT = [
  'dashboard/src/messages/**',
  'dashboard/src/signal.ts',
  'dashboard/src/session-state.ts',
  'dashboard/src/sample.ts',
]

export const RULES: readonly Rule[] = [
  // core: what the service means. No HTTP, no SQL, no packages.
  { files: ['server/core/version.ts'], may: ['package.json'] },
  { files: BASE, may: BASE, types: [PARAMETERS], packages: [CRYPTO] },
  { files: ['server/core/accounts/**'], may: [CORE], packages: [CRYPTO] },
  {
    // SEAM: credentials declare SpendPool, the ledger holds it. Remove this once it has its own file.
    files: ['server/core/ledger/**'],
    // A database that does not respond is one of the ledger's outcomes.
    may: [...BASE, SELF, PARAMETERS, 'server/core/unavailable.ts'],
    // The answer that a charge paid for is written in the charge's commit.
    types: [
      OPERATION,
      USAGE_EVENT,
      'server/core/credentials/api-key.ts',
      'server/core/idempotency/idempotency-record.ts',
    ],
    packages: [CRYPTO],
  },
  // Events report calls and money, which pass the journal.
  { files: ['server/core/events/**'], may: [...BASE, SELF], types: [USAGE_EVENT, 'server/core/ledger/journal.ts'] },
  {
    // Inline goggles are input, validated with the rest of the request.
    files: ['server/core/catalog/**'],
    may: [...BASE, SELF, 'server/core/goggles/**'],
    // Each operation declares the scope that an app needs.
    types: [USAGE_EVENT, 'server/core/credentials/oauth-grant.ts'],
    packages: [CRYPTO],
  },
  // Models and searches share the kinds of upstream failure.
  {
    files: ['server/core/models/**'],
    // One limit for the depth of JSON, in both directions.
    may: [...BASE, SELF, 'server/core/json-bounds.ts'],
    types: [USAGE_EVENT, PROVIDERS],
  },
  // An API's operations are named, priced and charged like the built-in ones.
  {
    files: ['server/core/apis/**'],
    may: [...BASE, SELF, PARAMETERS, 'server/core/json-bounds.ts', 'server/core/x402-networks.ts'],
    // An import fetches the documents that a document refers to.
    types: [OPERATION, USAGE_EVENT, PROVIDERS, 'server/core/outbound/outbound-fetch.ts'],
    packages: [CRYPTO],
  },
  // The ledger's kinds of entries are reported as they are.
  {
    files: [TELEMETRY],
    may: [...BASE, SELF],
    types: ['server/core/ledger/entry.ts', 'server/core/providers/**'],
    packages: [CRYPTO],
  },
  // Accounts share the slots of deliveries.
  {
    files: ['server/core/webhooks/**'],
    may: [...BASE, SELF, 'server/core/limits/shares.ts'],
    packages: [CRYPTO],
  },
  // A look-up ends in time.
  { files: ['server/core/gathered-lookups.ts'], may: ['server/core/in-time.ts'] },
  {
    files: ['server/core/*/**'],
    may: [...BASE, SELF, PARAMETERS],
    types: [OPERATION, USAGE_EVENT, TELEMETRY],
    packages: [CRYPTO],
  },

  // pipeline and jobs: the life of one paid call; what runs by the clock.
  { files: [PIPELINE], may: [CORE, SELF], types: [PROVIDERS] },
  { files: ['server/jobs/**'], may: [CORE, SELF], types: ['server/log.ts'] },

  // adapters: one port, one plug. No plug knows another.
  {
    files: ['server/adapters/identity/**'],
    may: [CORE, SELF, ...IDENTITY_SCHEMA],
    types: [PIPELINE, PROVIDERS],
    packages: [
      'better-auth',
      '@better-auth/oauth-provider',
      '@better-auth/passkey',
      '@zxcvbn-ts/core',
      '@zxcvbn-ts/language-common',
      'drizzle-orm',
      'node:async_hooks',
      CRYPTO,
    ],
  },
  {
    files: ['server/adapters/stores/libsql/**'],
    may: [CORE, SELF],
    types: [PIPELINE, PROVIDERS],
    packages: ['@libsql/client', 'libsql', 'drizzle-orm', 'node:*'],
  },
  { files: ['server/adapters/stores/memory/**'], may: [CORE, SELF], types: [PIPELINE, PROVIDERS] },
  // Shared by all search adapters: what a failed call means, and recent health.
  { files: ['server/adapters/websearch/*.ts'], may: [CORE, SELF], types: [PROVIDERS, PASSAGES] },
  {
    files: ['server/adapters/websearch/brave/**'],
    may: [CORE, SELF, 'server/adapters/websearch/*.ts'],
    types: [PROVIDERS],
  },
  {
    // It reads the pages that were found, on its own thread.
    files: ['server/adapters/websearch/searxng/**'],
    may: [CORE, PASSAGES, SELF, 'server/adapters/websearch/goggles/**', 'server/adapters/websearch/*.ts'],
    types: [PROVIDERS],
    packages: ['robots-parser'],
  },
  // core parses goggles; this fetches and caches them.
  { files: ['server/adapters/websearch/goggles/**'], may: [CORE, SELF], types: [PROVIDERS] },
  {
    // How every search adapter processes the text of a page: pure functions over libraries, no network and no index.
    files: [PASSAGES],
    // Pages contain untrusted JSON. A response depends on the version that the caller asked for.
    may: [SELF, 'server/core/json.ts', 'server/core/json-bounds.ts', 'server/core/catalog/api-version.ts'],
    packages: [
      'node:module',
      '@mozilla/readability',
      'gpt-tokenizer',
      'htmlparser2',
      'linkedom',
      'node-html-markdown',
      'stemmer',
    ],
  },
  {
    // Its index is a separate libSQL file, not the gateway's database.
    files: ['server/adapters/websearch/local/**'],
    may: [
      CORE,
      PASSAGES,
      SELF,
      'server/adapters/websearch/goggles/**',
      'server/adapters/websearch/*.ts',
      // The driver is the same.
      'server/adapters/stores/libsql/driver/file/finalize-statements.ts',
    ],
    types: [PIPELINE, PROVIDERS],
    packages: ['@libsql/client', 'node:*', 'eld', 'htmlparser2', 'image-size', 'unpdf'],
  },
  {
    // One wire for the real network and the sandbox, which keeps its people in a separate libSQL file.
    files: ['server/adapters/social/**'],
    may: [CORE, SELF],
    packages: ['@libsql/client', 'node:*'],
  },
  // Copies of the data, in folders and S3-compatible stores.
  { files: ['server/adapters/backup/**'], may: [CORE, SELF], packages: ['node:*'] },
  { files: ['server/adapters/sealing/**'], may: [CORE, SELF], packages: [CRYPTO] },
  // The documentation: read, rendered and indexed.
  { files: ['server/adapters/guide/**'], may: [CORE, SELF], packages: ['node:*', 'stemmer'] },
  // Calls to other people's servers, behind the port of core/outbound.
  // The sandbox counts tokens with a tokenizer.
  {
    files: ['server/adapters/models/**'],
    // One tokenizer, safe for long runs of characters. The worker and the sandbox run the wires too.
    may: [
      CORE,
      SELF,
      'server/pipeline/models/wires/**',
      'server/pipeline/models/body-reader.ts',
      'server/adapters/websearch/passages/token-count.ts',
    ],
    types: ['server/pipeline/models/model-backend.ts', 'server/pipeline/models/input-tokens.ts'],
    packages: ['gpt-tokenizer', 'node:*'],
  },
  // Untrusted documents, read in a separate process.
  {
    files: ['server/adapters/openapi/**'],
    may: [CORE, SELF],
    packages: ['@scalar/openapi-upgrader', 'yaml', 'node:fs/promises', CRYPTO],
  },
  { files: ['server/adapters/outbound/**'], may: [CORE, SELF], packages: ['node:*'] },
  { files: ['server/adapters/upstream-wallet/**'], may: [CORE, SELF], packages: ['viem', 'mppx'] },
  // Tokens for upstreams of imported APIs.
  { files: ['server/adapters/oauth/**'], may: [CORE, SELF], packages: ['openid-client'] },
  {
    files: ['server/adapters/payments/mpp/**'],
    may: [CORE, SELF],
    types: [PIPELINE, PROVIDERS],
    packages: ['mppx', 'viem', CRYPTO],
  },
  { files: ['server/adapters/payments/stripe/**'], may: [CORE, SELF], packages: ['stripe'] },
  // It starts the chain's program from an optional package, which it locates by name and never imports.
  {
    files: ['server/adapters/payments/sandbox-chain/**'],
    may: [CORE, SELF],
    packages: ['node:fs', 'node:net', 'node:url'],
  },
  { files: ['server/adapters/webhooks/**'], may: [CORE, SELF], packages: ['standardwebhooks'] },
  { files: ['server/adapters/metrics/**'], may: [CORE, SELF], packages: ['prom-client', 'node:perf_hooks'] },
  {
    files: ['server/adapters/tracing/**'],
    may: [CORE, SELF],
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/sdk-trace',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
    ],
  },
  { files: ['server/adapters/mail/**'], may: [CORE, SELF], packages: ['nodemailer'] },

  // http and mcp: the wire. A resource imports no other resource's routes.
  {
    // The generator of the documents is mounted as a route.
    files: ['server/http/openapi/routes.ts'],
    may: [
      'server/http/openapi/**',
      'server/http/account/sign-in-docs.ts',
      'server/http/middleware/response/failures.ts',
    ],
    types: ['server/http/system/dashboard-files.ts', 'server/core/payments/payments.ts'],
    packages: ['elysia', '@elysiajs/swagger'],
  },
  // Builds schemas, and reports which rule a value breaks.
  { files: ['server/http/openapi/json-schema.ts'], may: [CORE], packages: ['@sinclair/typebox'] },
  // Shared by the documents of all resources. It knows no route.
  {
    files: ['server/http/openapi/**'],
    may: [CORE, SELF, 'server/http/middleware/response/failures.ts'],
    packages: ['elysia', '@sinclair/typebox', CRYPTO],
  },
  // The documents of one resource: they share schemas, and know no route.
  {
    files: RESOURCE_DOCS,
    may: [CORE, 'server/http/openapi/**', 'server/http/middleware/response/failures.ts', ...RESOURCE_DOCS, ...RECORDS],
    packages: ['elysia', '@sinclair/typebox', CRYPTO],
  },
  {
    // A record knows no route: schemas, and the functions between core and the wire.
    files: RECORDS,
    may: [CORE, PIPELINE, 'server/http/openapi/**', 'server/http/middleware/**', ...RECORDS],
    packages: ['@sinclair/typebox'],
  },
  {
    // It validates a body by its schema.
    files: ['server/http/middleware/input/validate-body.ts'],
    may: [CORE, 'server/http/middleware/**', 'server/http/openapi/json-schema.ts'],
    packages: ['@sinclair/typebox'],
  },
  {
    // The policy of its pages has the hash of their style.
    files: ['server/http/guide/**'],
    may: [CORE, SELF, 'server/http/openapi/documented.ts'],
    packages: ['elysia', CRYPTO],
  },
  // The built dashboard, read from disk once.
  {
    files: ['server/http/system/dashboard-files.ts', 'server/http/system/page-preloads.ts'],
    may: ['server/http/system/page-preloads.ts', CORE, 'server/http/middleware/response/accepted-encoding.ts'],
    packages: [CRYPTO, 'node:fs/promises', 'node:path'],
  },
  {
    // It compresses off the serving thread.
    files: ['server/http/middleware/response/compressed-response.ts'],
    may: [
      'server/http/middleware/response/{accepted-encoding,unread-answers}.ts',
      'server/http/middleware/request-context.ts',
    ],
    packages: [CRYPTO, 'node:zlib', 'node:util'],
  },
  {
    // Every request passes these; they know no route.
    files: ['server/http/middleware/**', 'server/http/routing/**'],
    // An endpoint is declared with its documents, whose security comes from the declaration.
    may: [CORE, PIPELINE, 'server/http/middleware/**', 'server/http/routing/**', 'server/http/openapi/documented.ts'],
    types: ['server/http/system/dashboard-files.ts'],
    packages: ['elysia', CRYPTO],
  },
  {
    // MCP over HTTP: a tool runs what the route of its operation runs.
    files: ['server/http/mcp/**'],
    may: [
      ...[CORE, PIPELINE, SELF, 'server/mcp/**', 'server/http/usage/usage-answers.ts'],
      ...['server/http/social/start-link.ts', ...EVERY_RESOURCE],
    ],
    types: ['server/http/models/research-calls.ts', 'server/http/apis/api-calls.ts'],
    packages: ['elysia'],
  },
  // The export contains every record of an account.
  {
    files: ['server/http/account/export.ts'],
    may: [CORE, PIPELINE, 'server/http/keys/*.ts', 'server/http/usage/usage-report.ts', ...EVERY_RESOURCE],
  },
  // Operators see of a customer what its owner sees, by the same code.
  {
    files: ['server/http/operator/customers/customer-{commands,routes,views}.ts'],
    may: [
      ...[CORE, PIPELINE, 'server/http/operator/**', 'server/http/account/export.ts', 'server/http/usage/*.ts'],
      ...EVERY_RESOURCE,
    ],
    packages: ['elysia'],
  },
  {
    // The routes of owners' webhooks, for operators.
    files: ['server/http/operator/webhook-routes.ts'],
    may: [CORE, SELF, ...EVERY_RESOURCE, 'server/http/operator/operator-roles.ts', 'server/http/webhooks/routes.ts'],
  },
  // Its commands come with the schema of their body.
  {
    files: ['server/http/operator/operator-roles.ts'],
    may: [CORE, SELF, ...EVERY_RESOURCE],
    packages: ['@sinclair/typebox'],
  },
  {
    files: ['server/http/*/**'],
    may: [CORE, PIPELINE, SELF, ...EVERY_RESOURCE],
    packages: ['elysia', CRYPTO],
  },
  {
    // A tool's arguments come from the same table as its route's, and one place turns it into a schema.
    files: ['server/mcp/**'],
    may: [CORE, PIPELINE, SELF, 'server/http/openapi/parameter-documents.ts'],
    packages: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/server'],
  },

  // the top: the only place where the parts meet.
  { files: ['server/app.ts'], may: ['server/http/**', 'server/mcp/**'], types: [CORE, PIPELINE], packages: ['elysia'] },
  {
    // It chooses the adapters, and builds what the routes call.
    files: ['server/compose.ts'],
    may: [
      CORE,
      PIPELINE,
      'server/adapters/**',
      'server/compose/**',
      'server/app.ts',
      'server/http/**',
      'server/jobs/**',
    ],
    types: ['server/config.ts', 'server/log.ts'],
    packages: ['node:path'],
  },
  {
    // The parts of the composition, one concern each; compose.ts calls them.
    files: ['server/compose/**'],
    may: [CORE, PIPELINE, 'server/adapters/**', 'server/http/**', 'server/jobs/**', SELF],
    types: ['server/config.ts', 'server/config/**', 'server/log.ts'],
    // The content of a binary is known when it starts.
    packages: ['node:path', 'node:fs', 'node:fs/promises', CRYPTO],
  },
  { files: ['server/config.ts'], may: [CORE, 'server/config/**'], packages: ['node:*'] },
  { files: ['server/config/**'], may: [CORE, SELF], packages: ['node:*', 'yaml'] },
  // People read its output in a terminal.
  {
    files: ['server/log.ts'],
    may: ['server/core/plain-text.ts', 'server/core/clock.ts'],
    types: ['server/config.ts'],
    packages: ['node:fs'],
  },
  {
    files: ['server/listen.ts', 'server/hand-over.ts'],
    types: ['server/config.ts', 'server/listen.ts'],
    packages: ['node:fs', 'node:net'],
  },
  {
    files: ['server/main.ts'],
    may: [
      ...['server/core/result.ts', 'server/config.ts', 'server/config/config-error.ts', 'server/compose.ts'],
      ...['server/listen.ts', 'server/log.ts', 'server/hand-over.ts'],
      ...['server/compose/data.ts', 'server/compose/self-check.ts'],
      // Checked before every start.
      ...['server/setup/secure-folder.ts', 'server/setup/unmounted-volume.ts'],
    ],
    packages: ['node:path'],
  },

  // Outside the server: `up` and `verify` run before anything is installed; the command line is a client.
  // `up` starts the server at its end, by a dynamic import.
  { files: ['server/setup/up.ts'], may: ['server/setup/**', 'server/main.ts'], packages: ['node:*', 'bun'] },
  { files: ['server/setup/**'], may: [SELF], packages: ['node:*', 'bun'] },
  // Tools of developers.
  {
    files: ['tools/build-server.ts'],
    may: [SELF, 'server/setup/**', 'server/binary/files.ts', 'server/adapters/websearch/local/build/build-index.ts'],
    packages: ['node:*', 'bun'],
  },
  {
    files: ['tools/write-settings.ts'],
    may: ['server/config/schema/documentation.ts'],
    packages: ['node:*'],
  },
  { files: ['tools/**'], may: [SELF, 'server/setup/**'], packages: ['node:*', 'bun'] },
  // The single binary: everything in one file, made from what `up` sets up.
  {
    files: ['server/binary/**'],
    may: [
      SELF,
      'server/main.ts',
      'server/config.ts',
      'server/cli/**',
      'server/setup/**',
      'server/adapters/websearch/local/build/**',
      // Its child processes.
      'server/adapters/websearch/local/own/read-file-process.ts',
      'server/adapters/openapi/import-process.ts',
    ],
    packages: ['node:*', 'bun'],
  },
  {
    files: ['server/cli/local/**'],
    may: [
      ...[SELF, 'server/cli/**', 'server/compose.ts', 'server/compose/**', 'server/setup/secure-folder.ts', CORE],
      // They work while the server does not run: copies, and the settings.
      ...['server/config.ts', 'server/config/**', 'server/http/operator/restore/*record.ts'],
    ],
    packages: ['node:*', 'cli-progress', 'mppx', 'viem'],
  },
  // Commands that work without the server are loaded when called.
  {
    files: ['server/cli/local-commands.ts'],
    may: ['server/cli/local/**', 'server/cli/commands.ts'],
    types: ['server/cli/command.ts', 'server/cli/terminal.ts'],
  },
  // Documents of several files are read and bundled by the command line, within the bounds of an import.
  {
    files: ['server/cli/commands/bundle-document.ts'],
    may: ['server/adapters/openapi/read-document.ts', 'server/cli/*.ts', 'server/core/json.ts', DOCUMENT_SIZE],
    packages: ['node:*'],
  },
  {
    files: ['server/cli/*.ts', 'server/cli/commands/**'],
    // The characters that are safe to print are those of names.
    may: [
      ...['server/cli/*.ts', 'server/cli/commands/**'],
      ...['server/core/plain-text.ts', 'server/core/json.ts', 'server/core/version.ts', 'server/core/retry-after.ts'],
      ...[DOCUMENT_SIZE, TOP_UP_RANGE],
    ],
    // The types of the server's answers come from the server.
    types: ['server/app.ts', ...RECORDS],
    // One certified client for both ways to sign in: OAuth is easy to get wrong.
    packages: ['node:*', 'openid-client'],
  },

  // dashboard: pages -> features -> api, ui. A feature imports no other feature.
  { files: ['dashboard/src/*'], may: ['dashboard/src/**'], packages: REACT },
  {
    // It searches for keys by name.
    files: ['dashboard/src/shell/palette.tsx'],
    may: ['dashboard/src/navigation.ts', 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT, KEY_SIZES],
    packages: REACT,
  },
  {
    // The layout around the pages, with a dialog to sign in again.
    files: ['dashboard/src/shell/**'],
    may: [
      SELF,
      'dashboard/src/navigation.ts',
      'dashboard/src/features/sign-in/**',
      'dashboard/src/api/**',
      'dashboard/src/ui/**',
      ...TEXT,
    ],
    packages: REACT,
  },
  {
    // The length of a password is defined once.
    files: [
      'dashboard/src/features/settings/password-card.tsx',
      'dashboard/src/features/sign-in/credentials-form.tsx',
      'dashboard/src/pages/reset-password.tsx',
    ],
    may: ['dashboard/src/features/settings/*', 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT, PASSWORD],
    packages: REACT,
  },
  {
    files: ['dashboard/src/pages/**'],
    may: ['dashboard/src/features/**', 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT],
    packages: REACT,
  },
  {
    // Whether a key may be used from here is decided by the server's own rules (pure functions).
    files: ['dashboard/src/api/own-address.ts'],
    may: ['server/core/credentials/a*.ts'],
  },
  {
    // The key form validates addresses by the same rules.
    files: ['dashboard/src/features/keys/form/key-form-values.ts'],
    may: [
      'dashboard/src/features/keys/form/endpoints.ts',
      'dashboard/src/features/keys/typed-settings.ts',
      'dashboard/src/api/**',
      'dashboard/src/ui/**',
      ...TEXT,
      'server/core/credentials/a*.ts',
      KEY_SIZES,
    ],
    packages: REACT,
  },
  // How long the texts and lists of a key are is defined once, as is what a saved view may be.
  {
    files: ['dashboard/src/features/keys/typed-settings.ts'],
    may: ['dashboard/src/api/**', ...TEXT, KEY_SIZES],
  },
  {
    files: ['dashboard/src/features/views/views-dialog.tsx'],
    may: [SELF, 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT, SAVED_VIEWS],
    packages: REACT,
  },
  { files: ['dashboard/src/messages/keys.ts'], may: [KEY_SIZES] },
  { files: ['dashboard/src/messages/views.ts'], may: [SAVED_VIEWS] },
  // The compiler checks the list of endpoints against the server's.
  { files: ['dashboard/src/features/keys/form/endpoints.ts'], types: ['server/core/catalog/operation.ts'] },
  {
    // The tiers and their top-ups are defined once.
    files: [
      'dashboard/src/features/limits/tier-{card,table}.tsx',
      'dashboard/src/features/billing/balance-figures.tsx',
    ],
    may: [SELF, 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT, TIER],
    packages: REACT,
  },
  {
    // The events that an owner can choose are listed once.
    files: [
      'dashboard/src/features/webhooks/webhook-dialogs.tsx',
      'dashboard/src/features/settings/notice-mail-card.tsx',
    ],
    may: ['dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT, 'server/core/webhooks/event.ts'],
    packages: REACT,
  },
  {
    // So is the range of a top-up.
    files: ['dashboard/src/features/billing/top-up-dialog.tsx'],
    may: [SELF, 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT, TOP_UP_RANGE],
    packages: REACT,
  },
  {
    // So is the size of a document that can be imported.
    files: ['dashboard/src/features/operator/apis/document-fields.tsx'],
    may: [
      'dashboard/src/features/operator/apis/*',
      'dashboard/src/api/**',
      'dashboard/src/ui/**',
      ...TEXT,
      DOCUMENT_SIZE,
    ],
    packages: REACT,
  },
  {
    // Draws the QR code of an authenticator app.
    files: ['dashboard/src/features/settings/app-set-up.tsx'],
    may: [SELF, 'dashboard/src/features/settings/*', 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT],
    packages: [...REACT, 'uqr'],
  },
  {
    files: ['dashboard/src/features/*/**'],
    may: [SELF, 'dashboard/src/api/**', 'dashboard/src/ui/**', ...TEXT, JSON_GUARDS],
    packages: REACT,
  },
  // The compiler checks the table of actions against the server's failure codes.
  { files: ['dashboard/src/messages/failures.ts'], types: ['server/core/failure.ts'] },
  // It checks the names of the audit log's actions against those that the server writes.
  { files: ['dashboard/src/messages/{audit,audit-actions}.ts'], types: ['server/core/audit.ts'] },
  // Sentences say the limits of the server, which are defined once.
  { files: ['dashboard/src/messages/settings.ts'], may: [PASSWORD] },
  {
    files: ['dashboard/src/messages/sign-in.ts'],
    may: [PASSWORD, 'server/core/accounts/signup-credit.ts', 'server/core/money.ts'],
  },
  { files: ['dashboard/src/messages/{limits,operator}.ts'], may: [TIER, 'server/core/money.ts'] },
  { files: ['dashboard/src/messages/billing.ts'], may: [TOP_UP_RANGE] },
  { files: ['dashboard/src/messages/**'] },
  // A model's stream is the answer of a POST, which a browser's own EventSource cannot send.
  {
    files: ['dashboard/src/api/playground/chat.ts'],
    may: ['dashboard/src/api/**', ...TEXT],
    types: ['server/app.ts'],
    packages: [...REACT, 'eventsource-parser'],
  },
  {
    files: ['dashboard/src/api/account/second-factor.ts'],
    may: ['dashboard/src/api/**', ...TEXT],
    packages: [...REACT, '@simplewebauthn/browser'],
  },
  // How many reads a batch may have is defined once.
  { files: ['dashboard/src/api/client/batch.ts'], may: ['server/core/batch.ts'] },
  {
    files: ['dashboard/src/api/**'],
    may: [SELF, ...TEXT, JSON_GUARDS],
    types: ['server/app.ts', ...RECORDS],
    packages: REACT,
  },
  {
    // A row of the request log has no message, so its details show the documented meaning of its code.
    files: ['dashboard/src/ui/requests/failure-code-meaning.tsx'],
    may: ['dashboard/src/ui/**', ...TEXT, 'server/http/openapi/failure-meanings.ts'],
    types: ['dashboard/src/api/client/failure.ts'],
    packages: REACT,
  },
  // Look and behavior, without requests to the server; it knows what a failure is.
  {
    files: ['dashboard/src/ui/**'],
    may: [SELF, ...TEXT],
    types: ['dashboard/src/api/client/failure.ts'],
    packages: REACT,
  },
]

/** The only files that may read the environment. */
export const MAY_READ_ENVIRONMENT = [
  'server/config.ts',
  'server/config/**',
  'server/setup/**',
  'server/cli/**',
  'server/binary/**',
  'tools/**',
]
