import { chmod, copyFile, cp, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { describeFailure, SetupFailure } from '../server/setup/setup-failure'
import { step } from '../server/setup/step'
import { canInstall, installPackages } from './apt'
import { buildServer } from './build-server'
import { LITESTREAM, pathWith } from './test-programs'

/**
 * `bun run container [BINARY]` makes the image of ops/Dockerfile where none can be pulled: by buildah from the binary and the libraries of
 * this machine (Debian). Writes dist/gateway-image.tar, for `docker load` and `podman load`. Needs root.
 */
const ROOT = resolve(import.meta.dirname, '..')
/** The image, in buildah's storage. */
export const IMAGE = 'localhost/gateway'
/** The parts of the image's base: the libraries that these load. */
const ADDON = `node_modules/@libsql/linux-${process.arch}-gnu/index.node`

/** ops/Dockerfile with the images that it pulls replaced by folders of its context (`writeContext`). Its own last stage stays. */
async function localDockerfile(): Promise<string> {
  const [, , lastStage] = (await readFile(join(ROOT, 'ops/Dockerfile'), 'utf8')).split(/^FROM .*$/m)
  if (lastStage === undefined) throw new SetupFailure('ops/Dockerfile must have two stages')
  return `FROM scratch AS build\nCOPY built /\nFROM scratch\nCOPY base /\n${lastStage}`
}

/** Writes what the image is made of: `built`, the result of the first stage, with Litestream if it is on `path`, and `base`, the libraries. */
export async function writeContext(folder: string, program: string, path = process.env['PATH'] ?? ''): Promise<void> {
  const [built, base] = [join(folder, 'built'), join(folder, 'base')]
  await mkdir(join(built, 'volume/data'), { recursive: true })
  await mkdir(join(built, 'programs'))
  const litestream = Bun.which('litestream', { PATH: path })
  if (litestream !== null) await copyFile(litestream, join(built, 'programs/litestream'))
  await copyFile(program, join(built, 'gateway-server'))
  await chmod(join(built, 'gateway-server'), 0o755)
  for (const library of [...librariesOf(program), ...librariesOf(join(ROOT, ADDON))]) {
    await mkdir(dirname(join(base, library)), { recursive: true })
    await cp(library, join(base, library), { dereference: true })
  }
  await Bun.write(join(folder, 'Dockerfile'), await localDockerfile())
  // COPY keeps the rights, and the builder's may be narrower than the image's user needs.
  for (const path of await readdir(folder, { recursive: true })) {
    const { mode } = await stat(join(folder, path))
    await chmod(join(folder, path), mode | (mode & 0o100 ? 0o755 : 0o644))
  }
  await chmod(join(built, 'volume/data'), 0o700)
}

function librariesOf(program: string): readonly string[] {
  const { stdout } = Bun.spawnSync(['ldd', program])
  return [...stdout.toString().matchAll(/\/\S+(?= \()/g)].map(([library]) => library)
}

/** Runs buildah with a storage of its own below `folder`. Returns what it printed. */
export async function buildah(folder: string, ...args: readonly string[]): Promise<string> {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  const child = Bun.spawn(['buildah', ...storage, ...args], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new SetupFailure(`buildah ${args[0]} failed`, err)
  return out.trim()
}

/** Builds the image of a context. Its format is Docker's, because OCI's has no health check. */
export async function buildImage(folder: string, context: string): Promise<void> {
  await buildah(folder, 'bud', '--format', 'docker', '--tag', IMAGE, '--file', join(context, 'Dockerfile'), context)
}

async function requireBuildah(): Promise<void> {
  if (Bun.which('buildah')) return
  if (!canInstall()) throw new SetupFailure('buildah is missing. Install it (Debian: apt-get install -y buildah)')
  await step('Installing buildah', () => installPackages(['buildah'], 'it builds the image'))
}

async function container(binary: string | undefined): Promise<void> {
  await requireBuildah()
  const path = await pathWith(LITESTREAM, ROOT)
  const program = resolve(binary ?? join(ROOT, 'dist/gateway-server'))
  if (binary === undefined) await buildServer(program)
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  const [folder, archive] = [join(ROOT, 'dist/container'), join(ROOT, 'dist/gateway-image.tar')]
  await rm(folder, { recursive: true, force: true })
  try {
    await step('Building the image', async () => {
      await writeContext(join(folder, 'context'), program, path)
      await buildImage(folder, join(folder, 'context'))
      await rm(archive, { force: true })
      await buildah(folder, 'push', IMAGE, `docker-archive:${archive}:gateway:${version}`)
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  const megabytes = Math.round((await stat(archive)).size / 1e6)
  console.log(`${archive} (${megabytes} MB): docker load -i ${archive}`)
}

if (import.meta.main) {
  await container(Bun.argv[2]).catch((failure: unknown) => {
    console.error(describeFailure(failure))
    process.exitCode = 1
  })
}
