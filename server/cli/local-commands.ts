import type { Command } from './command'

/** Commands that work on the gateway's own files, and so exist only where its source is. Each is loaded when it is called. */
export const LOCAL_COMMANDS: readonly Command[] = [
  {
    name: 'index',
    summary: 'your own documents in the search index of the gateway here',
    usage: '',
    run: async (args, terminal) =>
      terminal.out(await (await import('./local/index-command')).indexCommand(args, terminal)),
  },
  {
    name: 'wallet',
    summary: 'a test wallet that pays for a call on the sandbox chain of the server that runs here',
    usage: '',
    run: async (args, terminal) => terminal.out(await (await import('./local/wallet-command')).walletCommand(args)),
  },
]
