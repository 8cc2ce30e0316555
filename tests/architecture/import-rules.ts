/**
 * The allowed imports: the table of docs/architecture.md in full, one row for each folder. It is an allow-list.
 *
 * - The FIRST row whose pattern matches a file applies to it, so narrow rows come before wide ones.
 * - A file that no row matches may import nothing. A new folder needs a row.
 * - `may`: files it may import, in any way. `types`: further files that it may import with `import type` only.
 *   SELF: the folder that the row's own pattern matched (for dashboard features the one feature, not all).
 * - `packages`: names without their subpath (`drizzle-orm` covers `drizzle-orm/libsql`); `node:*` is every built-in.
 *
 * To extend it, add to the row of the folder, and say why in a comment.
 */
export interface Rule {
  readonly files: readonly string[]
  readonly may?: readonly string[]
  readonly types?: readonly string[]
  readonly packages?: readonly string[]
}

export const SELF = 'SELF'

const CORE = 'server/core/**'
/** What every concern of core shares: money, ids, results, failures, the audit entry. */
const SHARED_CORE = 'server/core/*.ts'
const PIPELINE = 'server/pipeline/**'
const PASSAGES = 'server/adapters/websearch/passages/**'
const WEBSEARCH = ['server/adapters/websearch/*.ts', 'server/adapters/websearch/goggles/**']
const FAILURES = 'server/http/middleware/response/failures.ts'
const OPENAPI = 'server/http/openapi/**'
const MIDDLEWARE = ['server/http/middleware/**', 'server/http/routing/**']

/** The documents of one resource. */
const RESOURCE_DOCS = ['server/http/*/**/*docs.ts', 'server/http/keys/key-failures.ts']
/** The records of each resource: schemas that validate bodies, type answers, and are the documents. */
const RECORDS = ['server/http/*/**/*record.ts', 'server/http/keys/key-history.ts', 'server/http/keys/keys-csv.ts']
/** The base of every resource. */
const EVERY_RESOURCE = [...MIDDLEWARE, OPENAPI, ...RESOURCE_DOCS, ...RECORDS]

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
const API = 'dashboard/src/api/**'
const UI = 'dashboard/src/ui/**'
/** Text, and values outside React that components follow. */
const TEXT = ['dashboard/src/messages/**', 'dashboard/src/{signal,session-state,sample,navigation}.ts']
/** Limits and rules that the server defines once, for all who show or check them: constants and pure functions. */
const LIMITS = [
  'server/core/{json,money,batch}.ts',
  'server/core/accounts/{account-settings,password,roles,signup-credit,top-up-range}.ts',
  'server/core/apis/document-size.ts',
  'server/core/credentials/a*.ts',
  'server/core/limits/tier.ts',
  'server/core/webhooks/event.ts',
]

export const RULES: readonly Rule[] = [
  // core: what the service means. No HTTP, no SQL, no packages. A concern knows the types of others, and runs only its own code.
  { files: ['server/core/*.ts'], may: [SHARED_CORE, 'package.json'], types: [CORE], packages: [CRYPTO] },
  { files: ['server/core/accounts/**'], may: [CORE], packages: [CRYPTO] },
  // Inline goggles are validated with the rest of the request.
  {
    files: ['server/core/catalog/**'],
    may: [SHARED_CORE, SELF, 'server/core/goggles/**'],
    types: [CORE],
    packages: [CRYPTO],
  },
  {
    files: ['server/core/*/**'],
    // Accounts share the slots of deliveries; a model may be for some tiers.
    may: [SHARED_CORE, SELF, 'server/core/catalog/parameters.ts', 'server/core/limits/{shares,tier}.ts'],
    types: [CORE],
    packages: [CRYPTO],
  },

  // pipeline and jobs: the life of one paid call; what runs by the clock.
  { files: [PIPELINE], may: [CORE, SELF] },
  { files: ['server/jobs/**'], may: [CORE, SELF], types: ['server/log.ts'] },

  // adapters: one port, one plug. No plug knows another.
  {
    files: ['server/adapters/identity/**'],
    may: [CORE, SELF, 'server/adapters/stores/libsql/schema/{identity,oauth}.ts'],
    types: [PIPELINE],
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
    may: ['server/adapters/backup/files.ts', CORE, SELF],
    types: [PIPELINE],
    // Bun's own driver for one file that Litestream writes.
    packages: ['@libsql/client', 'libsql', 'drizzle-orm', 'node:*', 'bun:sqlite'],
  },
  {
    files: ['server/adapters/stores/postgres/**'],
    may: ['server/adapters/backup/files.ts', CORE, SELF],
    packages: ['pg', 'node:*'],
  },
  { files: ['server/adapters/stores/memory/**'], may: [CORE, SELF], types: [PIPELINE] },
  // How every search adapter processes the text of a page: pure functions over libraries, no network and no index.
  {
    files: [PASSAGES],
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
  // Its index is a separate libSQL file, not the gateway's database; the driver is the same.
  {
    files: ['server/adapters/websearch/local/**'],
    may: [CORE, PASSAGES, SELF, ...WEBSEARCH, 'server/adapters/stores/libsql/driver/file/finalize-statements.ts'],
    types: [PIPELINE],
    packages: ['@libsql/client', 'node:*', 'eld', 'htmlparser2', 'image-size', 'unpdf'],
  },
  // It reads the pages that were found, on its own thread.
  {
    files: ['server/adapters/websearch/searxng/**'],
    may: [CORE, PASSAGES, SELF, ...WEBSEARCH],
    packages: ['robots-parser'],
  },
  {
    files: ['server/adapters/websearch/{brave,goggles}/**', 'server/adapters/websearch/*.ts'],
    may: [CORE, SELF, 'server/adapters/websearch/*.ts'],
    types: [PASSAGES],
  },
  // One wire for the real network and the sandbox, which keeps its people in a separate libSQL file.
  { files: ['server/adapters/social/**'], may: [CORE, SELF], packages: ['@libsql/client', 'node:*'] },
  { files: ['server/adapters/{backup,outbound}/**'], may: [CORE, SELF], packages: ['node:*'] },
  { files: ['server/adapters/sealing/**'], may: [CORE, SELF], packages: [CRYPTO] },
  { files: ['server/adapters/workers/**'], may: [CORE, SELF], packages: [CRYPTO] },
  { files: ['server/adapters/guide/**'], may: [CORE, SELF], packages: ['node:*', 'stemmer'] },
  // One tokenizer, safe for long runs of characters. The worker and the sandbox run the wires too.
  {
    files: ['server/adapters/models/**'],
    may: [
      CORE,
      SELF,
      'server/pipeline/models/wires/**',
      'server/pipeline/models/body-reader.ts',
      'server/adapters/websearch/passages/token-count.ts',
    ],
    types: [PIPELINE],
    packages: ['gpt-tokenizer', 'node:*'],
  },
  // Untrusted documents, read in a separate process.
  {
    files: ['server/adapters/openapi/**'],
    may: [CORE, SELF],
    packages: ['@scalar/openapi-upgrader', 'yaml', 'node:fs/promises', CRYPTO],
  },
  { files: ['server/adapters/upstream-wallet/**'], may: [CORE, SELF], packages: ['viem', 'mppx'] },
  { files: ['server/adapters/oauth/**'], may: [CORE, SELF], packages: ['openid-client'] },
  {
    files: ['server/adapters/payments/mpp/**'],
    may: [CORE, SELF],
    types: [PIPELINE],
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
  // The generator of the documents is mounted as a route.
  {
    files: ['server/http/openapi/routes.ts'],
    may: [OPENAPI, FAILURES, 'server/http/account/sign-in-docs.ts'],
    types: ['server/http/system/dashboard-files.ts', CORE],
    packages: ['elysia', '@elysiajs/swagger'],
  },
  // Shared by the documents of all resources. It knows no route.
  { files: [OPENAPI], may: [CORE, SELF, FAILURES], packages: ['elysia', '@sinclair/typebox', CRYPTO] },
  // The documents of one resource: they share schemas, and know no route.
  {
    files: RESOURCE_DOCS,
    may: [CORE, OPENAPI, FAILURES, ...RESOURCE_DOCS, ...RECORDS],
    packages: ['elysia', '@sinclair/typebox', CRYPTO],
  },
  // A record knows no route: schemas, and the functions between core and the wire.
  { files: RECORDS, may: [CORE, PIPELINE, OPENAPI, ...MIDDLEWARE, ...RECORDS], packages: ['@sinclair/typebox'] },
  // Every request passes these; they know no route. A body is validated by its schema; a long answer is compressed off the thread.
  {
    files: MIDDLEWARE,
    may: [CORE, PIPELINE, ...MIDDLEWARE, 'server/http/openapi/{documented,json-schema}.ts'],
    types: ['server/http/system/dashboard-files.ts'],
    packages: ['elysia', '@sinclair/typebox', CRYPTO, 'node:zlib', 'node:util'],
  },
  // The built dashboard, read from disk once.
  {
    files: ['server/http/system/**'],
    may: [CORE, PIPELINE, SELF, ...EVERY_RESOURCE],
    packages: ['elysia', CRYPTO, 'node:fs/promises', 'node:path'],
  },
  // MCP over HTTP: a tool runs what the route of its operation runs.
  {
    files: ['server/http/mcp/**'],
    may: [
      CORE,
      PIPELINE,
      SELF,
      'server/mcp/**',
      'server/http/usage/usage-answers.ts',
      'server/http/social/start-link.ts',
      ...EVERY_RESOURCE,
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
    files: ['server/http/operator/**'],
    may: [
      CORE,
      PIPELINE,
      SELF,
      'server/http/account/export.ts',
      'server/http/usage/*.ts',
      'server/http/webhooks/routes.ts',
      ...EVERY_RESOURCE,
    ],
    packages: ['elysia', '@sinclair/typebox', CRYPTO],
  },
  // What a worker does not serve itself.
  { files: ['server/http/{pass-on,served-here}.ts'], may: [CORE, ...MIDDLEWARE] },
  // What a worker and its primary say about calls.
  { files: ['server/workers/**'], may: [CORE, PIPELINE, SELF] },
  // Strangers see what the catalog has.
  {
    files: ['server/http/storefront/**'],
    may: [CORE, SELF, 'server/http/apis/catalog-routes.ts', ...RECORDS],
    types: ['server/http/system/dashboard-files.ts'],
    packages: [CRYPTO],
  },
  { files: ['server/http/*/**'], may: [CORE, PIPELINE, SELF, ...EVERY_RESOURCE], packages: ['elysia', CRYPTO] },
  // A tool's arguments come from the same table as its route's, and one place turns it into a schema.
  {
    files: ['server/mcp/**'],
    may: [CORE, PIPELINE, SELF, 'server/http/openapi/parameter-documents.ts'],
    packages: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/server'],
  },

  // the top: the only place where the parts meet.
  { files: ['server/app.ts'], may: ['server/http/**', 'server/mcp/**'], types: [CORE, PIPELINE], packages: ['elysia'] },
  {
    files: ['server/compose.ts', 'server/compose/**'],
    may: [
      CORE,
      PIPELINE,
      'server/adapters/**',
      'server/compose/**',
      'server/app.ts',
      'server/http/**',
      'server/jobs/**',
      'server/workers/**',
      'server/config.ts',
    ],
    types: ['server/config/**', 'server/log.ts'],
    packages: ['node:path', 'node:fs', 'node:fs/promises', CRYPTO],
  },
  { files: ['server/config.ts', 'server/config/**'], may: [CORE, 'server/config/**'], packages: ['node:*', 'yaml'] },
  {
    files: ['server/{log,listen,hand-over}.ts'],
    may: [SHARED_CORE],
    types: ['server/config.ts', 'server/listen.ts', 'server/log.ts'],
    packages: ['node:fs', 'node:net'],
  },
  {
    files: ['server/{main,worker-process}.ts'],
    may: [
      SHARED_CORE,
      'server/*.ts',
      'server/config/**',
      'server/compose/**',
      'server/setup/**',
      'server/adapters/workers/{connection,parent}.ts',
      'server/http/pass-on.ts',
      'server/workers/pushed.ts',
    ],
    packages: ['node:path', CRYPTO],
  },

  // Outside the server: `up` and `verify` run before anything is installed; `up` starts the server at its end, by a dynamic import.
  { files: ['server/setup/**'], may: [SELF, 'server/main.ts'], packages: ['node:*', 'bun'] },
  {
    files: ['tools/**'],
    may: [
      SELF,
      'server/setup/**',
      'server/binary/files.ts',
      'server/adapters/websearch/local/build/build-index.ts',
      'server/config/schema/documentation.ts',
      'server/core/models/model-file-schema.ts',
    ],
    packages: ['node:*', 'bun'],
  },
  // The single binary: everything in one file, with its child processes.
  {
    files: ['server/binary/**'],
    may: [
      SELF,
      'server/{main,worker-process}.ts',
      'server/config.ts',
      'server/cli/**',
      'server/setup/**',
      'server/adapters/websearch/local/{build/**,own/read-file-process.ts}',
      'server/adapters/openapi/import-process.ts',
    ],
    packages: ['node:*', 'bun'],
  },
  // Commands that work while the server does not run: copies, and the settings.
  {
    files: ['server/cli/local/**'],
    may: [
      CORE,
      SELF,
      'server/cli/**',
      'server/compose.ts',
      'server/compose/**',
      'server/setup/secure-folder.ts',
      'server/config.ts',
      'server/config/**',
      'server/http/operator/restore/*record.ts',
      // `gateway worker` becomes one.
      'server/worker-process.ts',
    ],
    packages: ['node:*', 'cli-progress', 'mppx', 'viem'],
  },
  // The command line is a client: its types come from the server's answers. It loads a local command when that is called.
  {
    files: ['server/cli/**'],
    may: [
      SELF,
      ...LIMITS,
      'server/core/{plain-text,version,retry-after}.ts',
      'server/adapters/openapi/read-document.ts',
    ],
    types: ['server/app.ts', ...RECORDS],
    // One certified client for both ways to sign in: OAuth is easy to get wrong.
    packages: ['node:*', 'openid-client'],
  },

  // dashboard: pages -> features -> api, ui. A feature imports no other feature.
  { files: ['dashboard/src/*'], may: ['dashboard/src/**'], packages: REACT },
  // The layout around the pages, with a dialog to sign in again.
  {
    files: ['dashboard/src/shell/**'],
    may: [SELF, 'dashboard/src/features/sign-in/**', API, UI, ...TEXT, ...LIMITS],
    packages: REACT,
  },
  {
    files: ['dashboard/src/pages/**'],
    may: ['dashboard/src/features/**', API, UI, ...TEXT, ...LIMITS],
    packages: REACT,
  },
  {
    files: ['dashboard/src/features/*/**'],
    may: [SELF, API, UI, ...TEXT, ...LIMITS],
    types: ['server/core/catalog/operation.ts'],
    packages: [...REACT, 'uqr'],
  },
  // The compiler checks its tables against the server's codes and actions.
  {
    files: ['dashboard/src/messages/**'],
    may: LIMITS,
    types: ['server/core/failure.ts', 'server/core/audit.ts'],
  },
  // A model's stream is the answer of a POST, which a browser's own EventSource cannot send.
  {
    files: [API],
    may: [SELF, ...TEXT, ...LIMITS],
    types: ['server/app.ts', ...RECORDS],
    packages: [...REACT, 'eventsource-parser', '@simplewebauthn/browser'],
  },
  // Look and behavior, without requests to the server; it knows what a failure is.
  {
    files: [UI],
    may: [SELF, ...TEXT, 'server/http/openapi/failure-meanings.ts'],
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
