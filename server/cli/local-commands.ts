import type { Command } from './command'

/** Commands that need the gateway's source and files, so the single binary does not have them. Loaded on demand. */
export const LOCAL_COMMANDS: readonly Command[] = [
  {
    name: 'index',
    summary: 'add your own documents to the search index on this machine',
    usage: '',
    run: async (args, terminal) =>
      terminal.out(await (await import('./local/index-command')).indexCommand(args, terminal)),
  },
  {
    name: 'wallet',
    summary: 'pay for a call with a test wallet on the sandbox chain of the server on this machine',
    usage: '',
    run: async (args, terminal) => terminal.out(await (await import('./local/wallet-command')).walletCommand(args)),
  },
]
