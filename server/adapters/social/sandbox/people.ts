export interface TestPerson {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly description: string
  /** Followers of a protected account must be accepted first. */
  readonly isProtected: boolean
  readonly takesMessages: boolean
}

/** The users of the sandbox network. Anyone may approve as any of them. */
export const TEST_PEOPLE: readonly TestPerson[] = [
  {
    id: '1001',
    username: 'ada',
    name: 'Ada Lovelace',
    description: 'Test user. Writes about engines.',
    isProtected: false,
    takesMessages: true,
  },
  {
    id: '1002',
    username: 'grace',
    name: 'Grace Hopper',
    description: 'Test user. Collects moths.',
    isProtected: false,
    takesMessages: true,
  },
  {
    id: '1003',
    username: 'alan',
    name: 'Alan Turing',
    description: 'Test user. Protected: who follows him waits for his yes.',
    isProtected: true,
    takesMessages: true,
  },
  {
    id: '1004',
    username: 'katherine',
    name: 'Katherine Johnson',
    description: 'Test user. Takes no messages.',
    isProtected: false,
    takesMessages: false,
  },
]
