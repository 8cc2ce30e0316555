import { join } from 'node:path'
import { PUBLISHED_ACCOUNTS } from '../../../server/core/payments/published-accounts'
import { COMPILED } from '../servers/server-process'

const ROOT = join(import.meta.dir, '..', '..', '..')

/** Runs a program of this project while a server runs on this data folder, with nothing of our own environment. */
export async function runBun(
  command: readonly string[],
  folder: string,
  env: Record<string, string> = {},
): Promise<{ code: number; out: string }> {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: COMPILED,
      HOME: folder,
      DATA_DIR: folder,
      ...env,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, problems, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out: out + problems }
}

/** The CLI of the payment library, with a wallet of the sandbox chain. */
export function mppxCli(folder: string, rpcUrl: string, args: readonly string[], env: Record<string, string> = {}) {
  return runBun(['node_modules/mppx/dist/bin.js', ...args], folder, {
    MPPX_PRIVATE_KEY: PUBLISHED_ACCOUNTS[0].key,
    MPPX_RPC_URL: rpcUrl,
    MPPX_CONFIG: join(import.meta.dir, 'mppx.config.mjs'),
    NO_UPDATE_NOTIFIER: '1',
    CI: '1',
    ...env,
  })
}
