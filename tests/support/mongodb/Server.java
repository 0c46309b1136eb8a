import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.ServerVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import java.util.List;

/** A server whose data outlive it: the file it keeps them in, then the port it listens to. */
public class Server {
    /** As much of the protocol as today's drivers insist on. */
    static class Recent implements MongoVersion {
        public List<Integer> getVersionArray() {
            return ServerVersion.MONGO_5_0.getVersionArray();
        }

        public int getWireVersion() {
            return 13;
        }
    }

    public static void main(String[] words) {
        H2Backend backend = new H2Backend(words[0]);
        backend.version(new Recent());
        MongoServer server = new MongoServer(backend);
        Runtime.getRuntime().addShutdownHook(new Thread(backend::close));
        server.bind("127.0.0.1", Integer.parseInt(words[1]));
        System.out.println("ready");
    }
}
