/** The shell commands of the first call. Each runs as it is pasted: the key travels in a variable, never by hand. */
export type FirstCallCommands = { signUp: string; createKey: string; search: string; searchWithoutKey: string }

/** Builds the commands for the gateway at `origin`, for a POSIX shell with curl. */
export function firstCallCommands(origin: string): FirstCallCommands {
  const images = `${origin}/apis/v1/websearch/images/search?q=credit%20card`
  return {
    signUp: `curl -sS -c cookies.txt ${origin}/api/auth/sign-up/email \\
  -H 'content-type: application/json' \\
  -d '{"name":"Your name","email":"you@example.com","password":"your own long password"}'`,
    createKey: `GATEWAY_API_KEY=$(curl -sS -b cookies.txt ${origin}/api/keys \\
  -H 'content-type: application/json' \\
  -d '{"name":"My first key"}' | sed -E 's/.*"secret": *"([^"]+)".*/\\1/')
echo "$GATEWAY_API_KEY"`,
    search: `curl -sS -i '${images}' \\
  -H "Authorization: Bearer $GATEWAY_API_KEY"`,
    searchWithoutKey: `curl -sS -i '${images}'`,
  }
}
