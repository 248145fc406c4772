import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import type { RequestListener, Server, ServerOptions } from 'node:http';

/** An app of Express: `request` and `response` are what it has its requests and responses inherit from. */
type App = RequestListener & { request: object; response: object };

export interface AppServer {
  server: Server;
  /** Has the app answer what the server is asked from now on. */
  serve: (app: App) => void;
}

/**
 * A server for an app of Express, whose requests and responses are made as the app's own. Express gives each of them another prototype as it comes, if it
 * has not that one yet, and whatever is read of it afterwards is read the slow way: that was two thirds of what a small request cost.
 */
export const createAppServer = (options: ServerOptions): AppServer => {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  const server = createServer({ ...options, IncomingMessage: AppRequest, ServerResponse: AppResponse });
  return {
    server,
    serve: (app) => {
      Object.setPrototypeOf(AppRequest.prototype, app.request);
      Object.setPrototypeOf(AppResponse.prototype, app.response);
      app.request = AppRequest.prototype;
      app.response = AppResponse.prototype;
      server.on('request', app);
    },
  };
};
