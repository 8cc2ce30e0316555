import type { Command } from './command'
import { BALANCE, LOGIN, LOGOUT, USAGE, WHOAMI } from './commands/account'
import { completion } from './commands/completion'
import { KEYS } from './commands/keys'
import { MCP } from './commands/mcp'
import { CHAT, MODELS } from './commands/models'
import { operatorCommand } from './commands/operator'
import { SEARCH } from './commands/search'
import { SOCIAL } from './commands/social'
import { TOPUP } from './commands/topup'
import { WEBHOOKS } from './commands/webhooks'

/** All commands. To add one, create a file in `commands/` and add a line here. */
export const COMMANDS: readonly Command[] = [
  LOGIN,
  LOGOUT,
  WHOAMI,
  BALANCE,
  USAGE,
  TOPUP,
  KEYS,
  WEBHOOKS,
  SEARCH,
  CHAT,
  MODELS,
  SOCIAL,
  MCP,
  {
    name: 'operator',
    summary: 'manage accounts, limits, prices, models and APIs of the server on this machine',
    usage: '',
    run: async (args, terminal) =>
      terminal.out(
        await operatorCommand(
          args,
          (question) => terminal.isInteractive && confirm(question),
          terminal.out,
          terminal.err,
        ),
      ),
  },
  completion(() => COMMANDS),
]
