import type { Command } from './command'
import { COMMANDS } from './commands'
import type { Terminal } from './terminal'

/** Commands that need the gateway's source and files, so the single binary does not have them. Loaded on demand. */
const LOCAL_COMMANDS: readonly Command[] = [
  {
    name: 'config',
    summary: 'check and print the settings of the server on this machine',
    usage: '',
    run: async (args, terminal) =>
      terminal.out(await (await import('./local/config-command')).configCommand(args, terminal)),
  },
  {
    name: 'doctor',
    summary: 'check what the gateway on this machine needs, and that its books agree',
    usage: '',
    run: async (args, terminal) => (await import('./local/doctor-command')).doctorCommand(args, terminal),
  },
  {
    name: 'index',
    summary: 'add your own documents to the search index on this machine',
    usage: '',
    run: async (args, terminal) =>
      terminal.out(await (await import('./local/index-command')).indexCommand(args, terminal)),
  },
  {
    name: 'worker',
    summary: 'serve calls for a gateway on another machine',
    usage: '',
    run: async (args, terminal) => (await import('./local/worker-command')).workerCommand(args, terminal),
  },
  {
    name: 'log',
    summary: 'end the second log of the gateway on this machine, which LOG_URL began',
    usage: 'off [--lost]',
    run: async (args, terminal) => terminal.out(await (await import('./local/log-command')).logCommand(args)),
  },
  {
    name: 'wallet',
    summary: 'pay for a call with a test wallet on the sandbox chain of the server on this machine',
    usage: '',
    run: async (args, terminal) => terminal.out(await (await import('./local/wallet-command')).walletCommand(args)),
  },
]

/** All commands of an installation with the gateway itself. */
export const ALL_COMMANDS: readonly Command[] = [
  ...COMMANDS.map((command) => (command.name === 'operator' ? withLocal(command) : command)),
  ...LOCAL_COMMANDS,
]

/** Operators' commands that read and write the data itself, without the server. */
function withLocal(operator: Command): Command {
  return {
    ...operator,
    async run(args, terminal) {
      const done = await localResult(args, terminal)
      if (typeof done === 'string') terminal.out(done)
      else await operator.run(args, terminal)
    },
  }
}

/** Null for what the running server does. */
async function localResult(args: readonly string[], terminal: Terminal): Promise<string | null> {
  switch (args[0]) {
    case 'backup':
    case 'restore':
      return (await import('./local/backup-command')).localBackupCommand(args, terminal)
    case 'archive':
      return (await import('./local/archive-command')).archiveCommand(args, terminal)
    default:
      return null
  }
}
