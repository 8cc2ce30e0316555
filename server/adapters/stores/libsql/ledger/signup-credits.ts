import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type {
  SignupBrakes,
  SignupCredit,
  SignupCreditRequest,
  SignupCreditStore,
} from '../../../../core/accounts/signup-credit'
import { builtOnce } from '../../../../core/built-once'
import { DAY_MS } from '../../../../core/clock'
import type { Money } from '../../../../core/money'
import { signupCredits } from '../schema/ledger'

const AWAITING = 'awaiting_confirmation'

/** Decides in the statement that writes the decision, so that no two sign-ups can take the last place. */
export class LibsqlSignupCredits implements SignupCreditStore {
  private readonly db: LibSQLDatabase
  private readonly brakes: SignupBrakes
  private readonly states: () => ReturnType<typeof stateQuery>

  constructor(db: LibSQLDatabase, brakes: SignupBrakes) {
    this.db = db
    this.brakes = brakes
    this.states = builtOnce(() => stateQuery(db))
  }

  decide(request: SignupCreditRequest): Promise<SignupCredit> {
    const { network, amount, at } = request
    return this.insert(request, this.verdict(sql`${network}`, sql`${amount}`, at))
  }

  await(request: SignupCreditRequest): Promise<SignupCredit> {
    return this.insert(request, sql`${AWAITING}`)
  }

  async confirm(userId: string, at: number): Promise<SignupCredit | null> {
    const { network, amount } = signupCredits
    await this.db
      .update(signupCredits)
      .set({ state: this.verdict(sql`${network}`, sql`${amount}`, at), at })
      .where(and(eq(signupCredits.userId, userId), eq(signupCredits.state, AWAITING)))
    return this.of(userId)
  }

  async of(userId: string): Promise<SignupCredit | null> {
    const [row] = await this.states().all({ userId })
    return row?.state ?? null
  }

  private async insert({ userId, network, amount, at }: SignupCreditRequest, state: SQL): Promise<SignupCredit> {
    await this.db
      .insert(signupCredits)
      .select(sql`SELECT ${userId}, ${network}, ${amount satisfies Money}, ${at}, ${state}`)
      .onConflictDoNothing()
    const decided = await this.of(userId)
    if (!decided) throw new Error('the decision on a signup credit was not stored')
    return decided
  }

  private verdict(network: SQL, amount: SQL, at: number): SQL<SignupCredit> {
    const granted = sql`FROM signup_credits AS granted
      WHERE granted.state = 'granted' AND granted.network IS NOT NULL AND granted.at > ${at - DAY_MS}`
    return sql`CASE
      WHEN ${network} IS NULL THEN 'granted'
      WHEN (SELECT count(*) ${granted} AND granted.network = ${network}) >= ${this.brakes.perNetwork} THEN 'network_limit'
      WHEN (SELECT coalesce(sum(granted.amount), 0) ${granted}) + ${amount} > ${this.brakes.daily} THEN 'daily_limit'
      ELSE 'granted' END`
  }
}

function stateQuery(db: LibSQLDatabase) {
  const { state, userId } = signupCredits
  return db
    .select({ state })
    .from(signupCredits)
    .where(eq(userId, sql.placeholder('userId')))
    .prepare()
}
