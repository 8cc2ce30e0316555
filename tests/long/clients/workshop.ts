import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../../package.json'
import { JAVASCRIPT_PACKAGES, PYTHON_PACKAGES, SHARED_PACKAGES, type WorkshopName } from './client-list'

const HERE = import.meta.dir
/** Kept between runs: what is installed already is not fetched again. */
export const FOLDER = join(HERE, '..', '..', '..', 'node_modules', '.cache', 'clients')

/** How to run the clients of one language, or why that is not possible here. */
export type Workshop =
  | { readonly ready: true; command(script: string): readonly string[]; version(name: string): Promise<string> }
  | { readonly ready: false; readonly reason: string }

/** Runs a program to its end, or ends it after `seconds`: a client that never gives up must not hold up the others. */
export async function output(command: readonly string[], cwd: string, env: Record<string, string> = {}, seconds = 900) {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: seconds * 1000,
  })
  const [out, problems, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, problems }
}

/** The last output of a program, which is usually why it failed. */
export const lastLine = (text: string) => text.trim().split('\n').at(-1) ?? ''

const missing = (what: string, problems: string): Workshop => ({
  ready: false,
  reason: `${what}: ${lastLine(problems)}`,
})

async function javaScript(): Promise<Workshop> {
  const folder = join(FOLDER, 'js')
  await cp(join(HERE, 'js'), folder, { recursive: true })
  const shared = SHARED_PACKAGES.map((name) => `${name}@${Object(packageJson.devDependencies)[name]}`)
  const packages = [...shared, ...JAVASCRIPT_PACKAGES].map((text) => {
    const at = text.lastIndexOf('@')
    return [text.slice(0, at), text.slice(at + 1)]
  })
  const manifest = { private: true, type: 'module', dependencies: Object.fromEntries(packages) }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2))
  const { code, problems } = await output([process.execPath, 'install'], folder)
  if (code !== 0) return missing('the npm registry does not answer', problems)
  return {
    ready: true,
    command: (script) => [process.execPath, join(folder, script)],
    version: async (name) => (await Bun.file(join(folder, 'node_modules', name, 'package.json')).json()).version,
  }
}

async function python(): Promise<Workshop> {
  if (!Bun.which('python3')) return { ready: false, reason: 'python3 is not installed' }
  const folder = join(FOLDER, 'python')
  const program = join(folder, 'bin', 'python')
  const made = await output(['python3', '-m', 'venv', folder], FOLDER)
  if (made.code !== 0) return missing('python3 makes no virtual environment', made.problems)
  const { code, problems } = await output([program, '-m', 'pip', 'install', '--quiet', ...PYTHON_PACKAGES], FOLDER)
  if (code !== 0) return missing('the Python package index does not answer', problems)
  return {
    ready: true,
    command: (script) => [program, join(HERE, 'python', script)],
    version: async (name) => {
      const ask = `from importlib.metadata import version; print(version(${JSON.stringify(name)}))`
      return (await output([program, '-c', ask], FOLDER)).out.trim()
    },
  }
}

async function go(): Promise<Workshop> {
  if (!Bun.which('go')) return { ready: false, reason: 'go is not installed' }
  const folder = join(FOLDER, 'go')
  await cp(join(HERE, 'go'), folder, { recursive: true })
  await mkdir(join(folder, 'bin'), { recursive: true })
  // Not `go mod tidy`: that would fetch what the tests of every dependency need.
  const built = await output(['go', 'build', '-mod=mod', '-o', 'bin/', './...'], folder)
  if (built.code !== 0) return missing('the clients in Go do not build', built.problems)
  return {
    ready: true,
    command: (script) => [join(folder, 'bin', script)],
    version: async (name) => (await output(['go', 'list', '-m', '-f', '{{.Version}}', name], folder)).out.trim(),
  }
}

/** Installs the clients of the languages that are asked for. */
export async function openWorkshops(languages: ReadonlySet<WorkshopName>) {
  await mkdir(FOLDER, { recursive: true })
  const open = (language: WorkshopName, opener: () => Promise<Workshop>): Promise<Workshop> =>
    languages.has(language) ? opener() : Promise.resolve({ ready: false, reason: 'not asked for' })
  return {
    JavaScript: await javaScript(), // The vendor's double is written in it.
    Python: await open('Python', python),
    Go: await open('Go', go),
  }
}
