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

/** Every word after `gateway`. A new command is a file and a line here. */
export const COMMANDS: readonly Command[] = [
  LOGIN,
  LOGOUT,
  WHOAMI,
  BALANCE,
  USAGE,
  TOPUP,
  KEYS,
  SEARCH,
  CHAT,
  MODELS,
  SOCIAL,
  MCP,
  {
    name: 'operator',
    summary: 'credit, limits and prices of the server that runs here',
    usage: '',
    run: async (args, terminal) => terminal.out(await operatorCommand(args)),
  },
  completion(() => COMMANDS),
]
