import pg from 'pg';

/** A connection of its own. One that the server ends (a full disk) fails whatever is asked on it; unheard, the event would end the process and leave its folder behind. */
export const openClient = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
};
